//! `anabranch completions` and `anabranch man`: completion scripts and the manual page, generated from the declared
//! arguments.

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::print;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints the completion script for a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "anabranch", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Prints the manual page, with every command that is not hidden. Subcommands of these commands, such as `live send`,
/// are left out.
///
/// # Errors
/// Standard output cannot be written.
pub fn man() -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let mut text = Vec::new();
    // Writing to a buffer in memory cannot fail.
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut text);
    let of_commands = command.get_subcommands().filter(|known| !known.is_hide_set());
    let rendered = of_commands.fold(rendered, |done, known| {
        done?;
        let page = clap_mangen::Man::new(known.clone());
        page.render_name_section(&mut text)?;
        page.render_synopsis_section(&mut text)?;
        page.render_description_section(&mut text)?;
        page.render_options_section(&mut text)
    });
    rendered.map_err(|error| Failure::Run(format!("internal error: the manual page: {error}")))?;
    print(&String::from_utf8_lossy(&text))
}
