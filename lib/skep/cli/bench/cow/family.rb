# frozen_string_literal: true

# A parent and its forked children, which do the same steps at the same time, one after the other,
# each when told to.
#
#   family = Family.new(10, [-> { GC.start }, -> { … }])
#   family.pss                       # => bytes that all of them use together
#   family.step                      # every child does the first, and all are done; what they said
#   family.end                       # closes the pipes, by which the children end
#
# A step's value must be plain: it travels as JSON. Source: proc(5), smaps_rollup.
class Family
  Child = Struct.new(:pid, :orders, :answers)

  def self.memory(pid, *fields)
    text = File.read("/proc/#{pid}/smaps_rollup")
    fields.sum { |field| Integer(text[/^#{field}: +(\d+) kB/, 1]) * 1024 }
  end

  def self.uss(pid) = memory(pid, "Private_Clean", "Private_Dirty")

  def initialize(size, steps)
    @children = []
    size.times { @children << bear(steps) }
  end

  def pids = @children.map(&:pid)

  def pss = [Process.pid, *pids].sum { |pid| Family.memory(pid, "Pss") }

  # The mean of what children have for themselves alone.
  def uss = pids.sum { |pid| Family.uss(pid) } / pids.size

  def step
    @children.each { |child| child.orders.write("!") }
    @children.map { |child| JSON.parse(child.answers.gets || raise("a child died")).first }
  end

  def end
    @children.each { |child| [child.orders, child.answers].each(&:close) }
    pids.each { |pid| Process.wait(pid) }
  end

  private

  # Its siblings' pipes are closed in a child: it ends when its parent does.
  def bear(steps)
    theirs, ours = IO.pipe
    answers, answer = IO.pipe
    pid = fork do
      [ours, answers, *@children.flat_map { |child| [child.orders, child.answers] }].each(&:close)
      steps.each { |step| answer.puts([step.call].to_json) if theirs.read(1) }
      theirs.read(1)
      exit!(0)
    end
    [theirs, answer].each(&:close)
    Child.new(pid, ours, answers)
  end
end
