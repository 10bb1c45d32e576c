# frozen_string_literal: true

# What a swarm was asked to be: every option checked at once,
# all errors and warnings collected, then frozen.
#
#   config = Config.new("billing", { "nodes" => 4, "stop_timeout" => 10 },
#                       tasks: [{ "nodes" => nil, … }])
#   config.errors      # => [] or sentences, each with what to do
#   config.warnings
#   config.stop_timeout  # => 10.0
#
# It is made from plain data (the supervisor gets it from the mold over the channel)
# and touches nothing outside.
module Skep
  class Swarm
    module Definition
      class Config
        # SKEP_RUN_DIR is set, and empty: the socket would lie in the root directory.
        class NoRunDirectory < Skep::Error
          def initialize
            super("SKEP_RUN_DIR is empty: set it to the directory of the status socket, " \
                  "or unset it")
          end

          def exit_code = ExitCode::CONFIGURATION #: () -> Integer
        end

        NAME = /\A[a-zA-Z0-9][\w.-]{0,99}\z/
        private_constant :NAME

        attr_reader :name, :tasks, :events, :errors, :warnings

        Options::ALL.each_key { |key| define_method(key) { @values[key] } }

        # tasks: one Hash a kind of work: "nodes" (nil: as many as the swarm's), "threads",
        # "errors", "facts". events: the names that users' blocks want to hear.
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

        # The kind of work of each node, by node id:
        # [0, 0, 0, 1] is three of the first kind, one of the second.
        def placement #: () -> Array[Integer]
          tasks.each_with_index.flat_map { |task, index| [index] * (task["nodes"] || nodes) }
        end

        # Is there something for the helper to do?
        def helper? = events.any? || !metrics.nil? #: () -> bool

        # Worker threads of the widest kind of work.
        def threads = tasks.map { |task| task["threads"] || 1 }.max || 1 #: () -> Integer

        # Where the status socket lies:
        # `control:`, or a file with the swarm's name where this user may write.
        #: () -> String
        def control_path
          control || File.join(Config.run_directory, "#{name}.sock")
        end

        # The directory of it, yet to be checked.
        def control_directory #: () -> Runtime::RunDirectory
          Runtime::RunDirectory.new(File.dirname(control_path), named: !control.nil?)
        end

        # The directory of status sockets: /run/skep for root,
        # else $XDG_RUNTIME_DIR/skep, else /tmp/skep-UID.
        #: (?env: untyped, ?uid: Integer) -> String
        def self.run_directory(env: ENV, uid: Process.uid)
          named = env["SKEP_RUN_DIR"]
          raise NoRunDirectory if named == ""
          return named if named
          return "/run/skep" if uid.zero?

          session = env["XDG_RUNTIME_DIR"].to_s # an empty one is as good as none, its specification
          session.empty? ? "/tmp/skep-#{uid}" : File.join(session, "skep")
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

        # A flag is read into a list of one, so that false isn't taken for wrong.
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

        def check_log
          return if log.nil? || File.directory?(File.dirname(log))

          @errors << "log: the directory of #{log} doesn't exist: make it or name another file"
        end
      end
    end
  end
end
