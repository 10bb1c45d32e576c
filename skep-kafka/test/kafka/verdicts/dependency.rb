# frozen_string_literal: true

require "json"
require "kafka/verdicts/dependency_server"

module Verdicts
  # What the handlers depend on: a service of four hosts in a process of its own. A host answers,
  # refuses connections, accepts them and is silent, or answers late.
  #
  #   dependency = Dependency.start(slow: 4.5)
  #   dependency.ports                          # => [40001, …], of the hosts
  #   dependency.hosts = %w[refuse refuse answer answer]
  #   dependency.close
  #
  # It ends when its owner does. What a host owes is answered as soon as it answers again.
  class Dependency
    SECONDS = 60 # that a command takes at most

    attr_reader :ports

    def self.start(slow:) = new(slow)

    def initialize(slow)
      input, @commands = IO.pipe
      @answers, output = IO.pipe
      @pid = fork do
        [@commands, @answers].each(&:close)
        DependencyServer.new(slow).serve(input, output)
      ensure
        exit!(0)
      end
      [input, output].each(&:close)
      @ports = answer
    end

    def hosts=(modes)
      @commands.puts(JSON.generate(modes))
      answer
    end

    def close
      return unless @pid

      [@commands, @answers].each(&:close)
      Process.wait(@pid)
      @pid = nil
    end

    private

    def answer
      @answers.wait_readable(SECONDS) or raise "the dependency doesn't answer"
      JSON.parse(@answers.gets || raise("the dependency has ended"))
    end
  end
end
