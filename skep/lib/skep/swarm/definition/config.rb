# frozen_string_literal: true

# The checked configuration of a swarm: its options, errors and warnings. It collects all errors
# before it is frozen.
#
#   config = Config.new("billing", { "nodes" => 4, "stop_timeout" => 10 },
#                       tasks: [{ "name" => "orders", … }])
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
          def value = default.respond_to?(:call) ? default.call : default

          # Returns the value in the option's type, or nil if it is invalid.
          def read(value)
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
                next unless value.is_a?(Numeric) && value.real?

                value.to_f if value.positive? && value <= MOST
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

            def revision
              new(nil, "a text of 1 to 100 characters",
                  ->(value) { value if Revision.valid?(value) })
            end

            def status
              new(nil, "an exit status from 0 to 255, or a list of them", lambda { |value|
                list = Array(value)
                list if list.any? && list.all? { |one| one.is_a?(Integer) && one.between?(0, 255) }
              })
            end

            def path_or_false(expected)
              new(nil, expected, lambda { |value|
                next [false] if value.to_s == "false"

                value if value.is_a?(String) && !value.empty?
              })
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
            boot_concurrency: count(-> { OS::Cgroup.processors }, from: 1),
            liveness_timeout: seconds(30.0),
            stop_timeout: seconds(30.0),
            kill_timeout: seconds(5.0),
            orphan_timeout: seconds(5.0),
            restart: one_of(:always, :always, :on_failure, :never),
            never_restart_on: status,
            max_restarts: count(5),
            restart_window: seconds(60.0),
            on_crash_loop: one_of(:backoff, :backoff, :stop),
            memory_limit: size,
            memory_budget: size,
            max_lifetime: seconds(nil, none: true),
            fork_guard: one_of(:warn, :warn, :raise, :off),
            refork_after: count(nil, from: 1),
            huge_pages: flag([true]),
            reshare: flag([false]),
            control: path_or_false("a path for the control socket, or false for none"),
            metrics: address,
            log: text(nil, "a file's path (stdout when not given)"),
            log_level: one_of(:info, :debug, :info, :warn, :error),
            log_format: one_of(:auto, :auto, :text, :json, :journal),
            process_titles: flag([true]),
            watchdog: one_of(:supervisor, :supervisor, :nodes),
            revision: revision,
            chaos: flag([false])
          }.each_value(&:freeze).freeze
        end

        NAME = /\A[a-zA-Z0-9][\w.-]{0,99}\z/
        # What the init system sets, and its name in a systemd unit.
        OF_SYSTEMD = { "user" => "User=", "group" => "Group=", "umask" => "UMask=",
                       "core_dump" => "LimitCORE=" }.freeze
        NAME_RULE = "use letters, digits, dots and dashes, at most 100"
        NO_CONTROL = "control is false: `skep status`, `stop` and the other commands can't reach " \
                     "this swarm, nor can the web page; signals can"
        private_constant :NAME, :OF_SYSTEMD, :NO_CONTROL

        attr_reader :name, :tasks, :works, :events, :errors, :warnings

        # Sentences of the works about what they run on.
        def work_warnings = tasks.flat_map { |task| task["warnings"] || [] }

        # What decided the number of nodes: "option" if the user gave it, else the limit of
        # processors, "affinity" or "cpu_quota".
        attr_reader :nodes_from

        Options::ALL.each_key { |key| define_method(key) { @values[key] } }

        # Returns true if a swarm may have this name, which may be text of any encoding.
        def self.valid_name?(name) = name.b.match?(NAME)

        # tasks: a Hash for each work, as of Swarm::WorkSpec#to_plain. events: the names of events
        # with a user's block.
        def initialize(name, options, tasks: [], events: [])
          @name = name.to_s
          @tasks = tasks
          @events = events
          @errors = []
          @warnings = []
          options = options.transform_keys(&:to_s)
          @values = read(options)
          @works = tasks.each_with_index.map { |task, number| Work.new(self, number, task) }
          @nodes_from = nodes_given?(options) ? "option" : OS::Cgroup.processors_from
          check
          [@values, @works, @errors, @warnings].each(&:freeze)
          freeze
        end

        def valid? = errors.empty?

        # Returns the number of the work of each node, by node id: [0, 0, 0, 1] is three nodes of
        # the first work and one of the second.
        def placement
          works.flat_map { |work| [work.number] * work.nodes }
        end

        # Returns the largest value of an option of the swarm and its works.
        def longest(option) = [self, *works].filter_map(&option).max

        # See Work#beats_within.
        def beats_within = liveness_timeout

        # Returns true if the swarm needs a helper process.
        def helper? = events.any? || !metrics.nil?

        # Returns the largest number of worker threads of a node.
        def threads = tasks.map { |task| task["threads"] || 1 }.max || 1

        # Returns the path of the control socket: `control:`, or the swarm's name in the run
        # directory. The lock of the name is beside it, even if there is no socket.
        def control_path
          control || File.join(RunDirectory.path, "#{name}.sock")
        end

        def control? = control != false

        # Returns true if the user has named the place of the control socket and of the name's lock.
        def control_named? = control ? true : RunDirectory.named_by_environment?

        # Returns the directory of the control socket. It isn't checked yet.
        def control_directory
          RunDirectory.new(File.dirname(control_path), named: control ? true : false)
        end

        def to_h = @values

        private

        # Returns true if the default of `nodes` isn't used: each kind of work may have a number of
        # its own.
        def nodes_given?(options)
          !options["nodes"].nil? || (works.any? && works.all? { |work| work.own?(:nodes) })
        end

        def read(options)
          unknown = options.keys - Options::ALL.keys.map(&:to_s)
          unknown.each { |key| @errors << unknown_option(key) }
          Options::ALL.to_h do |key, option|
            given = options[key.to_s]
            [key, given.nil? ? plain(option.value) : read_one(key, option, given)]
          end
        end

        def read_one(key, option, given)
          source, given = given.variable, given.value if given.is_a?(EnvironmentOptions::Given)
          value = option.read(given)
          if value.nil?
            @errors << "#{source || key} must be #{option.expected} (got #{given.inspect})"
          end
          plain(value)
        end

        # A reader returns [true] or [false] for a flag, because nil means an invalid value.
        def plain(value) = [[true], [false]].include?(value) ? value.first : value

        def unknown_option(key)
          setting = OF_SYSTEMD[key]
          return "unknown option: #{key} (systemd's #{setting} sets it)" if setting

          near = Spelling.nearest(key, Options::ALL.keys)
          "unknown option: #{key} " +
            (near ? "(did you mean #{near}?)" : "(docs/reference/options.md lists the options)")
        end

        def check
          check_name
          check_tasks
          check_log
          check_spares
          check_refork
          @errors.concat(Skep::Fork::ReshareHook.errors) if reshare
          @warnings << NO_CONTROL unless control?
        end

        def check_name
          return if Config.valid_name?(name)

          @errors << "invalid name #{name.inspect}: #{NAME_RULE}"
        end

        def check_tasks
          if tasks.empty?
            @errors << "swarm #{name} has no work: add some with `swarm.work { |node| … }`"
          end
          tasks.each { |task| @errors.concat(task["errors"] || []) }
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

          @errors << "the directory of log #{log} does not exist: create it or name another file"
        end
      end
    end
  end
end
