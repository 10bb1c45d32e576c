# frozen_string_literal: true

require "skep/optional_gem"

# What another gem adds to skep: a command, events, metrics, and how its kind of work is shown. The
# gem skep-NAME has a file skep/plugin/NAME.rb for it. NAME is also the command `skep NAME`, and the
# `kind` of the work.
#
#   class Skep::Queue::Plugin < Skep::Plugin
#     def events = %w[queue_emptied]
#   end
#   Skep::Plugin.add("queue", Skep::Queue::Plugin.new)
#
# The file is loaded when the name is needed, by `require`, as Puma's plugins are: so it is found in
# the load path and in installed gems. A swarm without such work doesn't load it. Only a list of all
# plugins, such as that of `skep help`, needs a search for the files.
module Skep
  class Plugin
    NAME = /\A[a-z]\w{0,30}\z/ # of a file, whatever a status says
    MOST_ABSENT = 100 # names that are remembered: a node may report any
    # skep's other gems without their "skep-", a line each: with the files that are named otherwise,
    # as skep/puma, and whether one adds a command.
    GEMS = ::File.expand_path("../../data/gems", __dir__)
    private_constant :NAME, :MOST_ABSENT, :GEMS

    @added = {}
    @absent = []

    class << self
      def add(name, plugin) = @added[name] = plugin

      # Returns the plugins that are loaded, by name.
      def loaded = @added

      # Returns the plugin of that name; nil if there is none. Raises what its file raises, once:
      # for later calls there is no such plugin.
      def find(name)
        return unless name.is_a?(String) && name.match?(NAME)
        return @added[name] if @added.key?(name) || @absent.include?(name)

        begin
          load_file(name)
        ensure # another thread that asks meanwhile waits for the same file, in `require`
          @absent = [*@absent, name].last(MOST_ABSENT) unless @added.key?(name)
        end
        @added[name]
      end

      # Loads all plugins that can be found, and returns them by name.
      def all
        names = $LOAD_PATH.flat_map { |path| Dir.glob("skep/plugin/*.rb", base: path.to_s) }
                          .map { |file| File.basename(file, ".rb") }
        names += ::Gem::Specification.stubs.map(&:name).grep(/\Askep-/).map { |gem| gem[5..] } if
          defined?(::Gem::Specification)
        names.uniq.sort.each { |name| find(name) }
        @added.sort_by(&:first).to_h
      end

      # Returns how to install skep's gem with that name or file, for something that is missing
      # without it; nil if there is no such gem, or not one with a command.
      def installation(name, command: false)
        gem, *words = ::File.readlines(GEMS).map(&:split)
                            .find { |line| (line - ["command"]).include?(name) }
        return if gem.nil? || (command && !words.include?("command"))

        "it is in the gem skep-#{gem}, which isn't there in version #{VERSION}: run " \
          "`gem install skep-#{gem}`, or add `gem \"skep-#{gem}\"` to the Gemfile"
      end

      # Returns the plugins of the kinds of work that nodes of a status do.
      def of(status)
        kinds = status["nodes"].to_a.map { |node| node["work"].to_h["kind"] }
        kinds.uniq.filter_map { |kind| find(kind) }
      end

      # Returns how many items wait for the nodes of a status, and in words which this number leaves
      # out. Either is nil if there is nothing to say.
      def lag(status) = sum(of(status).map { |plugin| plugin.lag(status) })

      # Returns the same of several plugins' lags.
      def sum(lags)
        numbers, words = lags.transpose.map(&:compact)
        [(numbers.sum if numbers&.any?), (words.join(" and ") if words&.any?)]
      end

      # Returns what is wrong with the work of a status (Swarm::Diagnosis).
      def problems(status) = of(status).flat_map { |plugin| plugin.problems(status) }

      # Returns the words of the place that the facts of an event name, and the other facts.
      def place(facts)
        places = loaded.values.map { |plugin| plugin.place(facts) }
        places.find { |words, _| words.any? } || [[], facts]
      end

      # Returns the advice of all plugins on a subject, :source or :producer; nil: there is none.
      def advice(subject)
        texts = all.values.filter_map { |plugin| plugin.advice[subject] }
        texts.join("; ") if texts.any?
      end

      private

      # A gem that RubyGems refuses, as it lacks a gem that it depends on, stops no command of the
      # others.
      def load_file(name)
        feature = "skep/plugin/#{name}"
        error = OptionalGem.try_require(feature)
        return if error.nil? || error.path == feature

        warn("skep: the gem skep-#{name} is left out: #{error.message.lines.first.chomp}")
      end
    end

    # Returns the class of the command `skep NAME` (CLI::Command), and loads it; nil: there is none.
    def command = nil

    # Names of the events that its work publishes.
    def events = []

    # Its metrics, as in Metrics::Definitions.
    def metrics = ""

    # Adds the metrics of a status to a Metrics::PrometheusText.
    def collect(status, output) = nil

    # See Plugin.lag.
    def lag(status) = [nil, nil]

    # Returns what is wrong with the work of a status, as a list of Swarm::Diagnosis.problem: a pure
    # function, which the supervisor calls for each status. It should look at little where nothing
    # is wrong.
    def problems(status) = []

    # The kinds of these problems.
    def problem_kinds = []

    # Returns lines for `skep status`, below the table of nodes.
    def status_lines(status, partitions:) = []

    # Returns what the page shows of it: its "lag", "partitions" by name, and "totals" by group.
    def page(status) = { "lag" => lag(status) }

    # See Plugin.place.
    def place(facts) = [[], facts]

    # Hints for error messages, by subject.
    def advice = {}

    def inspect = "#<#{self.class}>"
  end
end
