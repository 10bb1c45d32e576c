# frozen_string_literal: true

# The options of a swarm:
# for each its default, what it may be, and the sentence for what it may not.
#
#   Definition::Options::ALL[:stop_timeout].read("12")   # => 12.0; nil for what it can't be
#
# It reads plain data, so strings stand for symbols.
# What an option makes happen is not decided here.
module Skep
  class Swarm
    module Definition
      Options = Struct.new(:default, :expected, :reader) do
        def value = default.respond_to?(:call) ? default.call : default #: () -> untyped

        # The value in its proper type, or nil when it isn't one.
        def read(value) #: (untyped) -> untyped
          reader.call(value)
        end
      end

      class Options
        MOST = 1_000_000_000 # of anything: 31 years, and more nodes than a machine has pids
        private_constant :MOST

        class << self
          private

          def count(default, from: 0, to: MOST)
            new(default, "a whole number from #{from} to #{to}",
                ->(value) { value if value.is_a?(Integer) && value.between?(from, to) })
          end

          def seconds(default, none: false)
            new(default, "a number of seconds above 0", lambda { |value|
              value.to_f if value.is_a?(Numeric) && value.positive? && value <= MOST
            }).freeze.then { |option| none ? optional(option) : option }
          end

          def one_of(default, *values)
            new(default, "one of #{values.map(&:inspect).join(', ')}",
                ->(value) { values.find { |held| held.to_s == value.to_s } })
          end

          def flag(default)
            new(default, "true or false",
                ->(value) { { "true" => [true], "false" => [false] }[value.to_s] })
          end

          def text(default, expected)
            new(default, expected, ->(value) { value if value.is_a?(String) && !value.empty? })
          end

          def size
            units = { "" => 1, "K" => 1024, "M" => 1024**2, "G" => 1024**3 }
            new(nil, 'a size such as "512M" or a number of bytes', lambda { |value|
              match = value.to_s.match(/\A(\d+)\s*([KMG]?)i?B?\z/i)
              match && match[1].to_i.positive? ? match[1].to_i * units[match[2].upcase] : nil
            })
          end

          def status
            new(nil, "an exit status from 0 to 255, or a list of them", lambda { |value|
              list = Array(value)
              list if list.any? && list.all? { |held| held.is_a?(Integer) && held.between?(0, 255) }
            })
          end

          def mask(default)
            new(default, "a file mode mask such as 0o027",
                ->(value) { value if value.is_a?(Integer) && value.between?(0, 0o777) })
          end

          # No name that must be looked up: the supervisor itself binds it, and never waits.
          def address
            examples = '"127.0.0.1:9394", "[::]:9394" or "unix:/path"'
            new(nil, "an address such as #{examples}", lambda { |value|
              port = value.to_s[/\A(?:localhost|[\d.]+|\[\h*:[\h:.]*\]):(\d{1,5})\z/, 1]
              value if port ? port.to_i <= 65_535 : value.to_s.match?(%r{\Aunix:/\S})
            })
          end

          def optional(option) = new(nil, option.expected, option.reader)
        end

        ALL = {
          nodes: count(-> { OS::Cgroup.processors }, from: 1, to: 100_000),
          spares: count(0, to: 10_000),
          boot_timeout: seconds(60.0),
          boot_parallel: count(-> { OS::Cgroup.processors }, from: 1),
          liveness_timeout: seconds(30.0),
          stop_timeout: seconds(30.0),
          kill_timeout: seconds(5.0),
          orphan_timeout: seconds(5.0),
          core: flag([false]),
          restart: one_of(:always, :always, :on_failure, :never),
          restart_never_status: status,
          restarts: count(5),
          restarts_within: seconds(60.0),
          on_crash_loop: one_of(:keep_trying, :keep_trying, :stop),
          memory_limit: size,
          memory_budget: size,
          max_lifetime: seconds(nil, none: true),
          fork_guard: one_of(:warn, :warn, :raise, :off),
          refork_after: count(nil, from: 1),
          huge_pages: flag([true]),
          reshare: flag([false]),
          control: text(nil, "a path for the status socket"),
          metrics: address,
          log: text(nil, "a file's path (stdout when not given)"),
          log_level: one_of(:info, :debug, :info, :warn, :error),
          log_format: one_of(:auto, :auto, :text, :json, :journal),
          user: text(nil, "a user's name"),
          group: text(nil, "a group's name"),
          umask: mask(nil),
          title: flag([true]),
          watchdog: one_of(:supervisor, :supervisor, :nodes),
          chaos: flag([false])
        }.each_value(&:freeze).freeze
      end
    end
  end
end
