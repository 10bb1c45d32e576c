# frozen_string_literal: true

require_relative "command_reference"

# The manual page, in man(7)'s macros. Source: man(7), groff_man(7).
#
#   ManPage.new(CommandReference.entries).to_s
class ManPage
  ABOUT = <<~TEXT
    skep keeps a swarm of forked processes alive and productive: a supervisor, the nodes it
    replaces when they die or hang, and the work they do. A command that talks to a running
    swarm finds it by its name, by --control PATH, or because it is the only one running.
  TEXT
  ENVIRONMENT = {
    "SKEP_RUN_DIR" => "the directory of control sockets: else /run/skep for root, " \
                      "$XDG_RUNTIME_DIR/skep, or /tmp/skep-UID",
    "NO_COLOR" => "if it is set, no command uses colours; none does where its output isn't a " \
                  "terminal",
    "SKEP_PURE" => "if it is 1, skep runs on its Ruby fallbacks, without C",
    "SKEP_OPTION" => "any option of a swarm by its name in capitals, such as " \
                     "SKEP_STOP_TIMEOUT=10; it takes precedence over the swarm file"
  }.freeze
  private_constant :ABOUT, :ENVIRONMENT

  def initialize(entries)
    @entries = entries
  end

  def to_s
    [%(.TH SKEP 1 "" "skep #{Skep::VERSION}" "User Commands"), ".SH NAME",
     "skep \\- keep a swarm of processes alive", ".SH SYNOPSIS", ".B skep",
     ".I COMMAND", "[options]", ".SH DESCRIPTION", text(ABOUT.tr("\n", " ").strip),
     ".SH COMMANDS", *@entries.flat_map { |entry| command(entry) },
     ".SS skep version", text(Skep::CLI::VERSION_SUMMARY + "."),
     ".SH EXIT STATUS", *CommandReference::EXITS.flat_map { |code, means| item(code, means) },
     ".SH ENVIRONMENT", *ENVIRONMENT.flat_map { |name, means| item(name, means) }].join("\n")
  end

  private

  def command(entry)
    [".SS #{text(entry.usage)}", text("#{entry.purpose}."),
     *entry.options.flat_map { |option| item(named(option), option.text) }, ".PP",
     "Examples:", ".PP", ".nf", *entry.examples.map { |line| text("    #{line}") }, ".fi"]
  end

  def named(option) = [option.names.join(", "), option.argument].compact.join(" ")
  def item(name, means) = [".TP", ".B #{text(name.to_s)}", text(means)]

  # Escapes text, so that groff prints it unchanged.
  def text(words)
    escaped = words.gsub("\\", "\\e").gsub("-", "\\-").gsub("'", "\\(aq").gsub("`", "\\(ga")
    escaped.start_with?(".") ? "\\&#{escaped}" : escaped
  end
end
