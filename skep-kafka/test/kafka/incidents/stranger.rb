# frozen_string_literal: true

require "rbconfig"

module Incidents
  # A member of a swarm's group that isn't skep's, in a process of its own. Once it is stopped, the
  # next rebalance waits for it.
  #
  #   stranger = Stranger.new(bootstrap, group)
  #   stranger.assigned?   # true once it has partitions
  #   stranger.stop        # by SIGSTOP; its session lasts two minutes
  #   stranger.close       # it continues, leaves, and ends
  class Stranger
    PROGRAM = <<~RUBY
      require "rdkafka"
      bootstrap, group = ARGV
      consumer = Rdkafka::Config.new("bootstrap.servers" => bootstrap, "group.id" => group,
                                     "session.timeout.ms" => 120_000).consumer
      consumer.subscribe(group) # the topic has the group's name
      told = false
      until $stdin.wait_readable(0)
        consumer.poll(100)
        told = puts("assigned") || true if !told && !consumer.assignment.empty?
        $stdout.flush
      end
      consumer.close
    RUBY
    private_constant :PROGRAM

    def initialize(bootstrap, group)
      there, @input = IO.pipe
      @output, here = IO.pipe
      @pid = Process.spawn(RbConfig.ruby, "-rio/wait", "-e", PROGRAM, bootstrap, group,
                           in: there, out: here)
      [there, here].each(&:close)
    end

    def assigned? = @output.wait_readable(0.1) ? true : false
    def stop = Process.kill(:STOP, @pid) # it is waited for below

    def close
      Process.kill(:CONT, @pid)
      [@input, @output].each(&:close)
      Process.wait(@pid)
    end
  end
end
