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

/// Prints the manual page, with every command that is not hidden, its subcommands, and their options.
///
/// # Errors
/// Standard output cannot be written.
pub fn man() -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let mut text = Vec::new();
    // Writing to a buffer in memory cannot fail.
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .and_then(|()| sections(&command, &mut text))
        .map_err(|error| Failure::Run(format!("internal error: the manual page: {error}")))?;
    print(&String::from_utf8_lossy(&text))
}

fn sections(command: &clap::Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let page = clap_mangen::Man::new(below.clone());
        page.render_name_section(text)?;
        page.render_synopsis_section(text)?;
        page.render_description_section(text)?;
        page.render_options_section(text)?;
        sections(below, text)?;
    }
    Ok(())
}
