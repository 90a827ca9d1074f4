// The table: it can be sorted and saved, and a click on a scheme highlights the scheme.
(function () {
  "use strict";
  const table = document.getElementById("summary");

  // The number in a cell: 1266 for "1,266 ±11", 14800 for "14.8 KB", 0 for "no dip". It is null for other text, which is
  // sorted last.
  function worth(text) {
    if (text.trim() === "no dip") return 0;
    const found = /^(-?[\d,.]+)\s*([KMG]?)/.exec(text.trim());
    if (!found) return null;
    const scale = { "": 1, K: 1e3, M: 1e6, G: 1e9 }[found[2]];
    return parseFloat(found[1].replace(/,/g, "")) * scale;
  }

  function sort(column) {
    const heads = Array.from(table.tHead.rows[0].cells);
    const turned = heads[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach(function (head) { head.removeAttribute("aria-sort"); });
    heads[column].setAttribute("aria-sort", turned === 1 ? "ascending" : "descending");
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort(function (one, other) {
      const [a, b] = [one, other].map(function (row) { return row.cells[column].textContent; });
      const [x, y] = [worth(a), worth(b)];
      if ((x === null) !== (y === null)) return x === null ? 1 : -1;
      return turned * (x === y ? a.localeCompare(b) : x < y ? -1 : 1);
    });
    table.tBodies[0].append(...rows);
    table.classList.add("sorted");
    // The rows of the heat map are kept in the order of the table.
    const map = document.getElementById("map");
    if (!map) return;
    const places = rows.map(function (row) { return row.cells[0].textContent; });
    const place = function (row) { return places.indexOf(row.cells[0].textContent); };
    const followers = Array.from(map.tBodies[0].rows);
    followers.sort(function (one, other) { return place(one) - place(other); });
    map.tBodies[0].append(...followers);
  }

  function csv() {
    const rows = Array.from(table.rows).map(function (row) {
      return Array.from(row.cells).map(function (cell) {
        const text = cell.innerText.replace(/\s+/g, " ").trim() || cell.textContent.trim();
        return '"' + text.replace(/"/g, '""') + '"';
      }).join(",");
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([rows.join("\n") + "\n"], { type: "text/csv" }));
    link.download = "summary.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  if (table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
      head.firstChild.addEventListener("click", function () { sort(column); });
    });
    const names = Array.from(table.tBodies[0].rows).map(function (row) { return row.cells[0].firstChild; });
    names.forEach(function (name) {
      name.setAttribute("aria-pressed", "false");
      name.addEventListener("click", function () {
        const scheme = name.getAttribute("aria-pressed") === "true" ? null : name.textContent;
        names.forEach(function (other) { other.setAttribute("aria-pressed", String(other.textContent === scheme)); });
        window.charts.highlight(scheme);
        document.querySelectorAll("details[data-scheme]").forEach(function (slowest) {
          slowest.open = slowest.dataset.scheme === scheme;
        });
      });
    });
    document.getElementById("save-csv").addEventListener("click", csv);
    const all = document.getElementById("all-columns");
    if (all) {
      all.addEventListener("change", function () { table.classList.toggle("all", all.checked); });
    }
  }
})();
