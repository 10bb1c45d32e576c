# frozen_string_literal: true

require_relative "../../support/patience"
require "fileutils"

# A shell in a real terminal, run by tmux.
#
#   terminal = Terminal.new(directory, rows: 24, columns: 80, env: { "SKEP_RUN_DIR" => directory })
#   terminal.type("skep top", "Enter")
#   terminal.await("a table") { |screen| screen.include?("ready") }    # => the screen's lines
#   terminal.resize(40, 120)
#   terminal.close
class Terminal
  SECONDS = Patience.of(20.0)
  PROMPT = "ready> "
  BASH = %w[bash --norc --noprofile -i].freeze

  class Late < StandardError
  end

  # Returns why no terminal is available, or nil.
  def self.lacking
    "it needs tmux: bin/setup scenario" unless system("tmux", "-V", out: File::NULL, err: File::NULL)
  rescue SystemCallError
    "it needs tmux: bin/setup scenario"
  end

  def initialize(directory, rows:, columns:, env:, shell: BASH)
    @socket = File.join(directory, "tmux")
    File.mkfifo(fifo = File.join(directory, "screen"))
    @changes = File.open(fifo, File::RDWR | File::NONBLOCK) # no EOF without a writer
    words = ["env", "PS1=#{PROMPT}", *env.map { |name, value| "#{name}=#{value}" }, *shell]
    tmux("-f", File::NULL, "new-session", "-d", "-x", columns.to_s, "-y", rows.to_s, *words)
    tmux("pipe-pane", "cat > #{fifo}")
    await("a prompt") { |lines| lines.include?(PROMPT.rstrip) }
  end

  # keys: tmux's names of keys, or text.
  def type(*keys) = tmux("send-keys", *keys)

  def resize(rows, columns) = tmux("resize-window", "-x", columns.to_s, "-y", rows.to_s)

  def lines = tmux("capture-pane", "-p").lines(chomp: true).map(&:rstrip)

  # Returns the screen with its colours.
  def painted = tmux("capture-pane", "-e", "-p")

  # Checks the screen after each output.
  def await(what, seconds: SECONDS)
    deadline = Skep::OS.now + seconds
    until yield(shown = lines)
      @changes.wait_readable([deadline - Skep::OS.now, 0].max) or
        raise Late, "no #{what} within #{seconds} s, but:\n#{shown.join("\n")}"
      @changes.read_nonblock(1 << 20, exception: false)
    end
    shown
  end

  # Returns what a command prints, once the prompt is back.
  def run(command)
    over = "over #{@runs = @runs.to_i + 1}"
    type("clear; #{command}; echo #{over}", "Enter")
    await("end of #{command}") { |lines| lines.any?(over) && lines.include?(PROMPT.rstrip) }
      .take_while { |line| line != over }
  end

  def close
    tmux("kill-server")
    @changes.close
  end

  private

  def tmux(*arguments)
    IO.popen({ "TMUX" => nil, "LC_ALL" => "C.UTF-8" }, ["tmux", "-S", @socket, *arguments],
             external_encoding: "UTF-8", &:read)
  end
end
