# frozen_string_literal: true

require "timeout"

# What blocks of a map say to the test, and wait for; included in its class. Nothing waits for ever.
#
#   told = telling { |tell| Skep.each(1..3, nodes: 2) { |item| tell.call(item) } }  # => [1, 3, 2]
#   pids = meeting(3) { |meet| Skep.each(1..3, nodes: 3) { meet.call(Process.pid) } }
#   never { |wait| … wait.call … }                    # only a kill ends the block that calls it
module Meeting
  LONG = 20
  private_constant :LONG

  # Returns the lines that processes wrote, in the order of their arrival.
  def telling
    IO.pipe do |reader, writer|
      within { yield ->(fact) { writer.syswrite("#{fact}\n") } }
      writer.close
      wait_readable(reader).read.lines(chomp: true) # other processes that have it open must end
    end
  end

  # Lets no process pass before so many have arrived; returns what they wrote.
  def meeting(count)
    pipes = IO.pipe + IO.pipe
    told, tell, gate, open = pipes
    opener = Thread.new { lines(told, count).tap { open.syswrite("!" * count) } }
    opener.report_on_exception = false
    within { yield ->(fact) { tell.syswrite("#{fact}\n") && gate.read(1) } }
    opener.value
  ensure
    opener&.kill&.join
    pipes.each(&:close)
  end

  # A wait that has no end but that of its process.
  def never
    IO.pipe { |reader, _writer| within { yield -> { reader.read(1) } } }
  end

  def within(&block) = Timeout.timeout(Patience.of(LONG), &block)

  def own_children
    Dir["/proc/self/task/*/children"].flat_map { |list| children_of(list) }
  end

  private

  # None of a thread that has ended since the folder was read.
  def children_of(list)
    File.read(list).split.map(&:to_i)
  rescue Errno::ENOENT, Errno::ESRCH
    []
  end

  def lines(io, count) = Array.new(count) { wait_readable(io).gets.chomp }
end
