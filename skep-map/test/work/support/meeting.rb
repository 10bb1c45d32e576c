# frozen_string_literal: true

require "timeout"

# What blocks of a map report to the test, and wait for; included in its class. All waits end.
#
#   items = collecting { |report| Skep.each(1..3, nodes: 2) { |item| report.call(item) } }
#   pids = meeting(3) { |meet| Skep.each(1..3, nodes: 3) { meet.call(Process.pid) } }
#   endlessly { |wait| … wait.call … }                # only a kill ends the block that calls it
module Meeting
  LONG = 20
  private_constant :LONG

  # Returns the lines that processes wrote, in the order of their arrival.
  def collecting
    IO.pipe do |reader, writer|
      within { yield ->(fact) { writer.syswrite("#{fact}\n") } }
      writer.close
      wait_readable(reader).read.lines(chomp: true) # EOF: all processes with the pipe have ended
    end
  end

  # Blocks processes until so many have arrived; returns what they wrote.
  def meeting(count)
    pipes = IO.pipe + IO.pipe
    reader, writer, gate, open = pipes
    opener = Thread.new { lines(reader, count).tap { open.syswrite("!" * count) } }
    opener.report_on_exception = false
    within { yield ->(fact) { writer.syswrite("#{fact}\n") && gate.read(1) } }
    opener.value
  ensure
    opener&.kill&.join
    pipes.each(&:close)
  end

  # Yields a wait that ends only with its process.
  def endlessly
    IO.pipe { |reader, _writer| within { yield -> { reader.read(1) } } }
  end

  def within(&block) = Timeout.timeout(Patience.of(LONG), &block)

  def own_children
    Dir["/proc/self/task/*/children"].flat_map { |list| children_of(list) }
  end

  private

  # Returns [] for a thread that has ended since the folder was read.
  def children_of(list)
    File.read(list).split.map(&:to_i)
  rescue Errno::ENOENT, Errno::ESRCH
    []
  end

  def lines(io, count) = Array.new(count) { wait_readable(io).gets.chomp }
end
