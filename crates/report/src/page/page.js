(function () {
  "use strict";
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function themed(layout) {
    const ink = dark.matches ? "#e6eaf0" : "#1c2430";
    const grid = dark.matches ? "#2c3542" : "#e8ebef";
    const copy = JSON.parse(JSON.stringify(layout));
    copy.paper_bgcolor = "rgba(0,0,0,0)";
    copy.plot_bgcolor = "rgba(0,0,0,0)";
    copy.font = { family: "system-ui, sans-serif", size: 13, color: ink };
    copy.hoverlabel = { namelength: -1 };
    copy.modebar = { bgcolor: "rgba(0,0,0,0)", color: grid, activecolor: ink };
    for (const key of Object.keys(copy)) {
      if (/^[xy]axis\d*$/.test(key)) {
        Object.assign(copy[key], { gridcolor: grid, linecolor: grid, zerolinecolor: grid, automargin: true });
      }
    }
    return copy;
  }

  function draw() {
    plots.forEach(function (plot, number) {
      Plotly.react("plot-" + number, plot.data, themed(plot.layout), { displaylogo: false, responsive: true });
    });
  }

  dark.addEventListener("change", draw);
  draw();
})();
