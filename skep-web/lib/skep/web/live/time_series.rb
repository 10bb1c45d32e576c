# frozen_string_literal: true

module Skep
  class Web
    module Live
      # Numbers of the last half hour, one in each STEP seconds, for charts.
      #
      #   series = TimeSeries.new
      #   series.add({ "lag" => 12 }, now)  # => the point of the step that has ended, if one has
      #   series.to_h(now)                  # => {step:, at:, lines: {"lag" => [nil, 12, …]}, …}
      #   series.fill({ "at" => [900.0], "lines" => { "lag" => [3] } })   # what was measured before
      #   series.mark(event)                # => {at:, text: "reload"}, if charts show that event
      #
      # It keeps the first LIMIT lines only.
      class TimeSeries
        STEP = 6.0
        STEPS = 300
        LIMIT = 400
        MARKS = 50
        # Events after which the numbers may differ.
        CHANGES = { "swarm_started" => "start", "restart_started" => "restart",
                    "reload_started" => "reload", "refork_started" => "refork" }.freeze
        SHORT = 7 # characters of a revision
        private_constant :STEP, :STEPS, :LIMIT, :MARKS, :CHANGES, :SHORT

        def initialize
          @lines = {}
          @marks = []
          @last = nil
        end

        def add(numbers, now)
          at = step(now)
          ended = @last && at > @last[:at] ? @last : nil
          keep(ended) if ended
          @last = { at:, numbers: numbers.compact.first(LIMIT).to_h }
          ended
        end

        # The revision of such an event is the one that runs, until a change has finished.
        def mark(event)
          return unless event.is_a?(Hash) && event["mono"].is_a?(Numeric)

          text = [CHANGES[event["event"]], new_revision(event)].compact.join(", ")
          return if text.empty?

          @marks = [*@marks, { at: step(event["mono"]), text: }].last(MARKS)
          @marks.last
        end

        # Adds numbers of the supervisor, which may be older than those that are known.
        def fill(series)
          series["lines"].each do |name, values|
            next unless @lines.key?(name) || @lines.size < LIMIT

            points = series["at"].zip(values).filter_map { |at, value| [step(at), value] if value }
            all = points.to_h.merge(@lines.fetch(name, {}))
            @lines[name] = all.sort.to_h if all.any?
          end
        end

        def to_h(now)
          first = step(now) - STEPS
          { step: STEP, steps: STEPS, at: step(now),
            marks: @marks.select { |mark| mark[:at] >= first },
            lines: @lines.transform_values { |points| line(points, first) } }
        end

        private

        def step(now) = (now / STEP).floor

        def new_revision(event)
          after = event["revision"]
          return unless after.is_a?(String) && event["event"].match?(/_(?:started|finished)\z/)

          before, @revision = @revision, after
          "revision #{after[0, SHORT]}" unless [nil, after].include?(before)
        end

        def keep(point)
          point[:numbers].each do |name, value|
            (@lines[name] ||= {})[point[:at]] = value if @lines.key?(name) || @lines.size < LIMIT
          end
          @lines.each_value { |points| points.shift while old?(points, point[:at]) }
          @lines.delete_if { |_, points| points.empty? }
        end

        def old?(points, now) = points.any? && points.first[0] <= now - STEPS

        def line(points, first) = (first...(first + STEPS)).map { |at| points[at] }
      end
    end
  end
end
