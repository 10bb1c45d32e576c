# frozen_string_literal: true

require "skep/swarm"
require "skep/guest/errors"
require "skep/guest/in_flight"
require "skep/guest/job_local"
require "skep/guest/job_runner"
require "skep/guest/process_name"

# A server that runs in a node as its work: a source for `swarm.work`. Subclasses are Skep::Puma,
# Skep::Sidekiq, Skep::SolidQueue and Skep::Karafka, each in its own file. docs/guides/embedding.md
#
#   swarm.work(Skep::Sidekiq.new(threads: 5, queues: %w[critical default]))
#
# The server starts in the node, after the fork. The main thread looks at it every two seconds:
# `node.wait` proves only that this thread can run. A subclass has these private methods:
#
# | method | |
# |---|---|
# | start(node, configure) | starts the server; raises a BootError if it can't |
# | began | the node is ready |
# | joined(node) | the process that this one replaces has ended |
# | look(node) | called every two seconds; raises if the server has ended |
# | problem | returns a sentence if the server doesn't work, nil if it does |
# | quieten | takes nothing new from now on; returns true if that can't be ended again |
# | starts_in_quiet? | returns true if a quiet has no effect on the server |
# | stop(node) | ends the server within `stop_time` |
module Skep
  ErrorPlace.add(File.expand_path("..", __dir__))

  class Guest
    LOOK = 2.0 # seconds
    RESERVE = 5.0 # seconds of stop_timeout that are left when the server has stopped
    LONGEST = 300 # seconds that a job or a request may take, unless the user says otherwise
    private_constant :LOOK, :RESERVE

    # Raises WrongGem unless there is a gem of that name within the bounds.
    def self.needs(name, *bounds)
      found = begin
        (::Gem.loaded_specs[name] || ::Gem::Specification.find_by_name(name)).version
      rescue ::Gem::MissingSpecError
        nil
      end
      return if found && ::Gem::Requirement.new(*bounds).satisfied_by?(found)

      raise WrongGem.new(name, bounds, found)
    end

    attr_reader :threads # how many jobs, requests or batches a node does at the same time
    attr_reader :handler # the block of `new`, which configures the server in the node

    def initialize(threads:, &configure)
      unless threads.is_a?(Integer) && threads.positive?
        refuse("threads must be 1 or more (got #{threads.inspect})")
      end

      @threads = threads
      @handler = configure || proc {}
    end

    # The constructor has refused what is wrong.
    def errors = []

    # What the supervisor knows of it.
    def facts = { kind: work_name, threads: }

    # Runs the server in a node, until it is to stop.
    def run(node, configure)
      await_resume(node) unless starts_in_quiet?
      return if node.stopping?

      start(node, configure)
      node.ready!
      began
      joined(node) if node.wait_for_predecessor
      serve(node)
      node.busy(for: (stop_time(node) || LONGEST) + RESERVE) { stop(node) }
    end

    def inspect = "#<#{self.class} threads=#{threads}>"

    private

    def began = nil
    def joined(node) = nil
    def look(node) = nil
    def problem = nil
    def quieten = nil
    def starts_in_quiet? = false

    # At its start the server would take something. The node is ready meanwhile: it has booted, and
    # only the resume is missing.
    def await_resume(node)
      return unless node.quiet?

      node.ready!
      node.wait(LOOK) while node.quiet? && !node.stopping?
    end

    # Returns at the stop, and also at the end of a quiet that the server can't end: then another
    # node takes this one's place.
    def serve(node)
      until node.stopping?
        return node.__end_for_quiet if @quiet && !node.quiet?

        look(node)
        node.quiet? ? @quiet ||= quieten : report(node, problem)
        node.wait(LOOK)
      end
    end

    def report(node, problem)
      node.unhealthy!(problem) if problem
      node.healthy! if @problem && problem.nil?
      @problem = problem
    end

    # Returns the seconds that the server has for its end; nil: as long as it takes. Without a stop
    # it is that of the next one.
    def stop_time(node)
      seconds = node.time_left || node.stop_timeout
      seconds && [seconds - RESERVE, seconds / 4.0].max
    end

    # Checks `longest`, which may be nil: without limit.
    def seconds(given)
      real = given.is_a?(Numeric) && given.real?
      return given if given.nil? || (real && given.positive? && given.to_f.finite?)

      refuse("longest must be a number of seconds, or nil (got #{given.inspect})")
    end

    def refuse(sentence) = Swarm::Definition::InvalidDescription.refuse(sentence)
  end
end
