# frozen_string_literal: true

# The checked configuration of a swarm: its options, errors and warnings. It collects all errors
# before it is frozen.
#
#   config = Config.new("billing", { "nodes" => 4, "stop_timeout" => 10 },
#                       tasks: [{ "nodes" => nil, … }])
#   config.errors      # => [] or sentences that say what is wrong and how to fix it
#   config.warnings
#   config.stop_timeout  # => 10.0
#
# The supervisor receives the options from the mold as plain data. Config has no side effects.
module Skep
  class Swarm
    module Definition
      class Config
        # The table of options. Each has a default, a description of its valid values and a reader.
        #
        #   Options::ALL[:stop_timeout].read("12")   # => 12.0; nil for an invalid value
        #
        # Options come as plain data, so a reader takes strings for symbols.
        Options = Struct.new(:default, :expected, :reader) do
          def value = default.respond_to?(:call) ? default.call : default #: () -> untyped

          # Returns the value in the option's type, or nil if it is invalid.
          def read(value) #: (untyped) -> untyped
            reader.call(value)
          end
        end

        class Options
          MOST = 1_000_000_000 # the upper limit of all numbers: 31 years in seconds
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
                list if list.any? && list.all? { |one| one.is_a?(Integer) && one.between?(0, 255) }
              })
            end

            def mask(default)
              new(default, "a file mode mask such as 0o027",
                  ->(value) { value if value.is_a?(Integer) && value.between?(0, 0o777) })
            end

            # Takes no host name: the supervisor binds the address and must not wait for a
            # resolver.
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

        NAME = /\A[a-zA-Z0-9][\w.-]{0,99}\z/
        private_constant :NAME

        attr_reader :name, :tasks, :events, :errors, :warnings

        Options::ALL.each_key { |key| define_method(key) { @values[key] } }

        # tasks: a Hash for each kind of work, with "nodes" (nil: the swarm's number), "threads",
        # "errors" and "facts". events: the names of events with a user's block.
        def initialize(name, options, tasks: [], events: [])
          @name = name.to_s
          @tasks = tasks
          @events = events
          @errors = []
          @warnings = []
          @values = read(options.transform_keys(&:to_s))
          check
          [@values, @errors, @warnings].each(&:freeze)
          freeze
        end

        def valid? = errors.empty? #: () -> bool

        # Returns the kind of work of each node, by node id: [0, 0, 0, 1] is three of the first kind
        # and one of the second.
        def placement #: () -> Array[Integer]
          tasks.each_with_index.flat_map { |task, index| [index] * (task["nodes"] || nodes) }
        end

        # Returns true if the swarm needs a helper process.
        def helper? = events.any? || !metrics.nil? #: () -> bool

        # Returns true if nodes run with another user, group or umask, or may dump core.
        def privileges? = [user, group, umask].any? || core #: () -> bool

        # Returns the largest number of worker threads of a node.
        def threads = tasks.map { |task| task["threads"] || 1 }.max || 1 #: () -> Integer

        # Returns the path of the status socket: `control:`, or the swarm's name in the run
        # directory.
        #: () -> String
        def control_path
          control || File.join(RunDirectory.path, "#{name}.sock")
        end

        # Returns the directory of the status socket. It isn't checked yet.
        def control_directory #: () -> RunDirectory
          RunDirectory.new(File.dirname(control_path), named: !control.nil?)
        end

        def to_h = @values #: () -> Hash[Symbol, untyped]

        private

        def read(options)
          unknown = options.keys - Options::ALL.keys.map(&:to_s)
          unknown.each { |key| @errors << unknown_option(key) }
          Options::ALL.to_h do |key, option|
            given = options[key.to_s]
            [key, given.nil? ? plain(option.value) : read_one(key, option, given)]
          end
        end

        def read_one(key, option, given)
          value = option.read(given)
          if value.nil?
            @errors << "#{key}: #{given.inspect} can't be: give #{option.expected}"
          end
          plain(value)
        end

        # The reader of a flag returns [true] or [false], because nil means an invalid value.
        def plain(value) = [[true], [false]].include?(value) ? value.first : value

        def unknown_option(key)
          near = nearest_option(key)
          "#{key}: there is no such option: " +
            (near ? "did you mean #{near}?" : "see docs/options.md for those there are")
        end

        def nearest_option(key)
          return unless defined?(DidYouMean)

          DidYouMean::SpellChecker.new(dictionary: Options::ALL.keys.map(&:to_s)).correct(key).first
        end

        def check
          check_name
          check_tasks
          check_log
          check_spares
          check_refork
        end

        def check_name
          return if name.match?(NAME)

          @errors << "the name #{name.inspect} can't be: use letters, digits, dots, dashes"
        end

        def check_tasks
          if tasks.empty?
            @errors << "there is no work in swarm #{name}: " \
                       "give it some with `swarm.work { |child| … }`"
          end
          tasks.each do |task|
            @errors.concat(task["errors"] || [])
            count = task["nodes"]
            next if count.nil? || (count.is_a?(Integer) && count.positive?)

            @errors << "nodes: #{count.inspect} of a work can't be: give a whole number from 1 on"
          end
        end

        def check_spares
          return unless spares.to_i.positive? && restart == :never

          @warnings << "spares has no effect with restart :never: none of them ever steps in"
        end

        # A mold that was a node is no child of the supervisor.
        def check_refork
          return if refork_after.nil? || OS::Pidfd.native?

          @warnings << "refork_after has no effect here: it takes Linux and skep's C extension"
        end

        def check_log
          return if log.nil? || File.directory?(File.dirname(log))

          @errors << "log: the directory of #{log} doesn't exist: make it or name another file"
        end
      end
    end
  end
end
