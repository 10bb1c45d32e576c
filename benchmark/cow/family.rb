# frozen_string_literal: true

# A parent and its forked children. On request all children run the next step at the same time.
#
#   family = Family.new(10, [-> { GC.start }, -> { … }])
#   family.pss                       # => bytes that all of them use together
#   family.step                      # every child runs the next step; returns their values
#   family.end                       # closes the pipes, which ends the children
#
# A step's value must be plain: it is sent as JSON. Source: proc(5), smaps_rollup.
class Family
  Child = Struct.new(:pid, :orders, :answers)

  def self.memory(pid, *fields)
    text = File.read("/proc/#{pid}/smaps_rollup")
    fields.sum { |field| Integer(text[/^#{field}: +(\d+) kB/, 1]) * 1024 }
  end

  def self.uss(pid) = memory(pid, "Private_Clean", "Private_Dirty")

  def initialize(size, steps)
    @children = []
    size.times { @children << fork_child(steps) }
  end

  def pids = @children.map(&:pid)

  def pss = [Process.pid, *pids].sum { |pid| Family.memory(pid, "Pss") }

  # Returns the mean of the children's private memory.
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

  # A child closes its siblings' pipes, so that it ends with its parent.
  def fork_child(steps)
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
