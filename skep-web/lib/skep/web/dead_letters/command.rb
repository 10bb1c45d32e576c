# frozen_string_literal: true

module Skep
  class Web
    class DeadLetters
      # Which letters of a topic are meant: those whose error contains a text, that come from a
      # topic, that have a key. Without any of these: all.
      #
      #   filter = Filter.of({ "error" => "Timeout", "from" => "orders" })   # or RequestRefused
      #   letters.each(**filter.to_h) { |letter| … }
      Filter = Struct.new(:error, :topic, :key) do
        def self.of(fields)
          new(*%w[error from key].map do |name|
            text = fields[name]
            next if text.nil? || text == ""

            text.is_a?(String) && text.valid_encoding? && text.size <= Filter::LIMIT or
              raise RequestRefused.new(400, "#{name} must be a text of at most " \
                                            "#{Filter::LIMIT} characters")
            text
          end)
        end

        def to_h = super.compact

        # With the names that the page uses.
        def facts = { error:, from: topic, key: }.compact
      end
      Filter::LIMIT = 1_000 # characters

      # A replay or a purge that a visitor asks for by a button.
      #
      #   command = Command.new(form)    # RequestRefused: a field that is unknown or wrong
      #   command.call(letters)          # => { replayed: 12, failed: 0, … }
      #   command.to_s                   # => "replay rate=50.0 dry_run", for the log
      class Command
        ACTIONS = %w[replay purge].freeze
        REPLAY_ONLY = %w[rate max_replays].freeze
        FIELDS = [*%w[topic action error from key limit dry_run], *REPLAY_ONLY].freeze
        RATE = /\A\d{1,7}(?:\.\d{1,6})?\z/
        TRUE, FALSE = [true, "true"].freeze, [nil, false, "false", ""].freeze
        private_constant :ACTIONS, :REPLAY_ONLY, :FIELDS, :RATE, :TRUE, :FALSE

        attr_reader :action

        def initialize(form)
          @form = form
          @action = form["action"]
          ACTIONS.include?(@action) or refuse("there is no action #{@action.inspect}")
          check_names
          @filter = Filter.of(form)
          @options = { limit: number("limit"), rate:, max_replays: number("max_replays") }.compact
          @dry_run = dry_run
          @form = nil
        end

        def dry_run? = @dry_run

        def call(letters)
          letters.public_send(action, **@filter.to_h, **@options, dry_run: dry_run?)
        end

        def facts = { action:, dry_run: dry_run?, **@filter.facts, **@options }

        def to_s
          given = { **@filter.facts, **@options }.map { |name, value| "#{name}=#{value.inspect}" }
          [action, *given, *("dry_run" if dry_run?)].join(" ")
        end

        private

        # A misspelt dry_run must not become a real replay.
        def check_names
          allowed = action == "replay" ? FIELDS : FIELDS - REPLAY_ONLY
          unknown = @form.keys - allowed
          refuse("#{action} has no #{unknown.first.inspect}") if unknown.any?
        end

        def number(name)
          given = @form[name].to_s
          return if given.empty?

          value = Integer(given, 10, exception: false)
          value&.positive? ? value : refuse("#{name} must be a whole number above 0")
        end

        def rate
          given = @form["rate"].to_s
          return if given.empty?

          value = given.match?(RATE) ? given.to_f : 0.0
          value.positive? ? value : refuse("rate must be letters a second, above 0")
        end

        def dry_run
          given = @form["dry_run"]
          return true if TRUE.include?(given)

          FALSE.include?(given) ? false : refuse("dry_run must be true or false")
        end

        def refuse(sentence) = raise(RequestRefused.new(400, sentence))
      end
    end
  end
end
