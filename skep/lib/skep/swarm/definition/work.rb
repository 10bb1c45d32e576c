# frozen_string_literal: true

# A work of a swarm, as the supervisor and each node know it: its number, its name and its options.
# An option that isn't given to the work is the swarm's.
#
#   work = Work.new(config, 1, { "name" => "web", "options" => { "stop_timeout" => 60 } })
#   work.stop_timeout       # => 60.0
#   work.restart            # => :always, the swarm's
#   work.own                # => { stop_timeout: 60.0 }
#
#   Work.read({ memory_limit: "1G" })   # => the same, checked; raises InvalidDescription
#
# A Config has the same readers, for processes without a work: spares and the helper.
module Skep
  class Swarm
    module Definition
      class Work
        OPTIONS = %i[nodes boot_timeout liveness_timeout stop_timeout kill_timeout restart
                     never_restart_on max_restarts restart_window on_crash_loop memory_limit
                     max_lifetime].freeze
        # Those that nil turns off.
        NONE = %i[liveness_timeout never_restart_on memory_limit max_lifetime].freeze
        NAME_RULE = "a work's name has 1 to 100 letters, digits, dots, dashes and underscores, " \
                    "and begins with a letter or digit"
        private_constant :NAME_RULE

        class << self
          # Returns the options that a swarm file gives to a work, each in its type. Without those
          # that mean "as the swarm": `nodes: nil`.
          def read(given)
            given = given.transform_keys { |option| option.to_s.to_sym } # as those of a swarm
            given = given.reject { |option, value| option == :nodes && value.nil? }
            given.to_h { |option, value| [option, read_one(option, value)] }
          end

          # Returns the name as text, if it may be one.
          def name(given)
            name = given.to_s
            return name if Config.valid_name?(name)

            InvalidDescription.refuse("invalid name #{name.inspect[0, 120]}: #{NAME_RULE}")
          end

          private

          def read_one(option, value)
            InvalidDescription.refuse(unknown(option)) unless OPTIONS.include?(option)
            return if value.nil? && NONE.include?(option)

            definition = Config::Options::ALL.fetch(option)
            definition.read(value).tap { |read| read.nil? && refuse(option, definition, value) }
          end

          def refuse(option, definition, value)
            none = ", or nil for none" if NONE.include?(option)
            InvalidDescription.refuse("#{option} of a work must be #{definition.expected}#{none} " \
                                      "(got #{IPC::PlainData.shown(value)})")
          end

          def unknown(option)
            own = "those of a work are #{OPTIONS.join(", ")}"
            return "#{option} is an option of the swarm alone: #{own}" if
              Config::Options::ALL.key?(option)

            near = Spelling.nearest(option.to_s, OPTIONS)
            "unknown option of a work: #{option} (#{near ? "did you mean #{near}?" : own})"
          end
        end

        attr_reader :number
        attr_reader :name
        attr_reader :own # the options that were given to it

        # task: a Hash as of Swarm::WorkSpec#to_plain.
        def initialize(config, number, task)
          @config = config
          @number = number
          @name = task["name"]
          @named = task["named"]
          @own = task.fetch("options", {}).to_h { |option, value| own_option(option, value) }.freeze
          freeze
        end

        OPTIONS.each do |option|
          define_method(option) { @own.fetch(option) { @config.public_send(option) } }
        end

        def own?(option) = @own.key?(option)
        def named? = @named ? true : false # by the swarm file

        # The seconds in which nodes beat, and in which `unhealthy!` counts as repeated; of a work
        # without a liveness_timeout, too.
        def beats_within = liveness_timeout || @config.beats_within

        # Returns true if the swarm has other works beside it.
        def one_of_several? = @config.works.size > 1

        # What a mold must know.
        def to_plain = { "name" => name, "named" => named?, "options" => own }

        def inspect = "#<#{self.class} #{number} #{name} #{own}>"

        private

        def own_option(option, value)
          [option.to_sym, value.nil? ? nil : Config::Options::ALL.fetch(option.to_sym).read(value)]
        end
      end
    end
  end
end
