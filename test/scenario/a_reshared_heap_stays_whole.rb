# frozen_string_literal: true

# Children of a process with a reshared heap run threads, Ractors, compaction, forks of forks and
# every kind of garbage collection. In each child the heap stays consistent and the objects
# unchanged. Without the C extension `reshare` has no effect, which its report says, and the heap
# stays consistent, too. (ROUNDS=100 for a soak test.)
require_relative "scenario"

PROGRAM = <<~'RUBY'
  require "skep/reshare"
  require "skep/fork"
  Warning[:experimental] = false
  SHARED = Skep::OS.native?
  abort("installed: #{!SHARED}") if Skep::Reshare::HeapPageSlab.installed? != SHARED

  def build(count) = Array.new(count) { |n| ["text #{n}", n.to_s * 3, { n => :value }] }
  def whole?(kept) = kept.each_with_index.all? { |(text, long, hash), n| text == "text #{n}" && long == n.to_s * 3 && hash == { n => :value } }

  def sound!(kept, what)
    GC.verify_internal_consistency
    whole?(kept) or abort("an object changed: #{what}")
  end

  WORK = {
    "full collections" => ->(_) { 5.times { GC.start } },
    "minor collections" => ->(_) { 30.times { build(2_000); GC.start(full_mark: false) } },
    "lazy sweeping" => ->(_) { 5.times { GC.start(immediate_sweep: false); build(5_000) } },
    "threads" => ->(_) { Array.new(8) { Thread.new { 20.times { build(500); GC.start(full_mark: false) } } }.each(&:join) },
    "compaction" => ->(_) { GC.compact; build(2_000); GC.start; GC.compact },
    "automatic compaction" => ->(_) { GC.auto_compact = true; 3.times { build(5_000); GC.start }; GC.auto_compact = false },
    "stress" => ->(_) { GC.stress = true; 5.times { |n| "a#{n}".to_sym; [n].dup }; GC.stress = false },
    "finalizers" => ->(_) { 2_000.times { ObjectSpace.define_finalizer(Object.new, proc {}) }; 3.times { GC.start } },
    "a growing heap" => ->(_) { more = build(50_000); GC.start; whole?(more) or abort("a new object changed") },
    "a warmup of its own" => ->(_) { Skep.warmup(reshare: true); build(5_000); GC.start },
    "a fork" => lambda { |kept|
      pid = fork { GC.start; build(5_000); GC.start; sound!(kept, "a fork of a fork"); exit!(0) }
      GC.start
      Process.wait2(pid).last.success? or abort("the fork of a fork failed")
    },
    "Ractors" => lambda { |_|
      GC.start # on Ruby 3.1 the last GC that gives pages back: with Ractors that isn't safe
      ractors = Array.new(3) { |n| Ractor.new(n) { |m| Array.new(20_000) { |i| [i, i.to_s * m] }.size } }
      5.times { GC.start }
      ractors.each { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    }
  }

  kept = build(Integer(ENV.fetch("OBJECTS", "30000")))
  garbage = build(20_000)
  garbage = nil
  skipped = Skep.warmup(reshare: true).steps.find { |step| step.name == :reshare }.skipped
  abort("skipped: #{skipped.inspect}") if skipped.nil? != SHARED
  Integer(ARGV.first).times do |round|
    children = WORK.map do |what, work|
      pid = fork do
        work.call(kept)
        GC.start
        sound!(kept, what)
        Skep::Reshare::HeapPageSlab.given_back.positive? == SHARED or abort("given back or not: #{what}")
        exit!(0)
      end
      [what, pid]
    end
    failed = children.reject { |_, pid| Process.wait2(pid).last.success? }
    failed.empty? or abort("round #{round}: #{failed.map(&:first).join(", ")}")
    sound!(kept, "the parent")
  end
  puts "sound"
RUBY

Scenario.play do
  load_path = File.expand_path("../../load_path", __dir__)
  command = [RbConfig.ruby, "-r#{load_path}", "-e", PROGRAM, "--", ENV.fetch("ROUNDS", "5")]
  out = IO.popen(command, err: %i[child out], &:read)
  must("keep every heap consistent: #{out.lines.first(20).join}") { out == "sound\n" }
end
