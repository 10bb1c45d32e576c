# frozen_string_literal: true

require "tmpdir"
require_relative "pid/turns"

# `bin/bench pid`: nanoseconds to get the process id, each way in a fresh Ruby.
#
# The baseline of `$$` is a plain global variable. That of a method is Process.argv0, a C method of
# Ruby that only returns a stored object.
module Skep
  module Benchmarks
    class Pid < Benchmark
      TITLE = "what asking for the pid costs"
      UNIT = "ns"
      ROUNDS = 9
      SIZES = { turns: 20_000 }.freeze
      GLOBAL = "a plain global"
      METHOD = "an empty C method"
      CACHE = 'require "skep/pid_cache"'
      FORK = 'require "skep/fork"'
      PEER = "pid_cache"
      SYSTEM_CALL = File.expand_path("pid/getpid.c", __dir__)
      private_constant :GLOBAL, :METHOD, :CACHE, :FORK, :PEER, :SYSTEM_CALL

      def subjects = globals + methods_of_process + ways_to_see_a_fork

      # Ruby 3.3 caches the pid itself: skep can gain nothing there, but must not be slower.
      def goals(rows)
        own = RUBY_VERSION >= "3.3"
        [goal(rows, "$$, skep/pid_cache", *(own ? ["$$, Ruby's own", 1.05] : [GLOBAL, 1.15])),
         goal(rows, "Process.pid, skep/pid_cache",
              *(own ? ["Process.pid, Ruby's own", 1.05] : [METHOD, 1.15])),
         goal(rows, "Skep.pid", METHOD, 1.15)]
      end

      def around = Dir.mktmpdir("skep-bench-") { |folder| (@folder = folder) && yield }

      private

      def globals
        section = { group: "the global", against: GLOBAL }
        [ruby(GLOBAL, "$skep_plain", setup: "$skep_plain = 1", **section),
         ruby("$$, Ruby's own", "$$", **section),
         peer("$$, pid_cache", "$$", **section),
         ruby("$$, skep/pid_cache", "$$", setup: CACHE, **section)]
      end

      def methods_of_process
        section = { group: "the method", against: METHOD }
        [ruby(METHOD, "Process.argv0", **section),
         ruby("Process.pid, Ruby's own", "Process.pid", **section),
         peer("Process.pid, pid_cache", "Process.pid", **section),
         ruby("Process.pid, skep/pid_cache", "Process.pid", setup: CACHE, **section),
         ruby("Skep.pid", "Skep.pid", setup: FORK, **section),
         Subject.new("getpid(2), from C", **section) { system_call }]
      end

      def ways_to_see_a_fork
        section = { group: "has this process forked?", against: METHOD }
        [ruby("Skep.generation", "Skep.generation", setup: FORK, **section),
         ruby("Thread#alive?", "thing.alive?", setup: "Thread.current", **section)]
      end

      def ruby(name, expression, setup: "", flags: Checkout.flags, **section)
        source = Turns.source(expression, turns: size(:turns), setup:)
        ours = [CACHE, FORK].include?(setup)
        Subject.new(name, ours:, **section) { Program.run(source, ruby: flags) }
      end

      def peer(name, expression, **section)
        peer = Peer.find(PEER) or
          return Subject.new(name, skipped: Peer.missing(PEER), **section)
        ruby(name, expression, setup: "require #{PEER.inspect}", flags: peer.flags,
                               version: peer.to_s, **section)
      end

      def system_call
        @getpid ||= Compiler.new("gcc", package: "gcc libc6-dev")
                            .build(SYSTEM_CALL, File.join(@folder, "getpid"))
        Program.run([@getpid, size(:turns)])
      end

      def goal(rows, name, other, limit)
        Goal.at_most("#{name} within #{limit}x of #{other}", rows.ratio(name, other), limit)
      end
    end
  end
end
