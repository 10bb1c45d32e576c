# frozen_string_literal: true

# One subject of a benchmark, with its measurement.
#
#   Subject.new("Skep.pid", group: "the pid", against: "an empty C method", ours: true) { 16.2 }
#   Subject.new("pid_cache", group: "the pid", skipped: Peer.missing("pid_cache"))
#
# The block measures once and returns a figure in the benchmark's unit, or several as a Hash, of
# which the first is compared: {"fork" => 1.2, "PSS MiB" => 80.0}. It raises Subject::Skipped with a
# sentence if it can't measure here, or Subject::Never if the expected event doesn't happen.
#
# version: its name and version, "pid_cache 0.1.0". settings: what its program was given, for the
# results. against: the subject that its ratio refers to, else the benchmark's REFERENCE. ours: true
# if it runs skep's code. x and series: for figures by a quantity; Fork computes lines through them.
module Skep
  module Benchmarks
    class Subject
      # The subject can't be measured here. The message has the reason and what to install.
      class Skipped < Skep::Error
      end

      # The subject was measured, but the expected event doesn't happen; see the message.
      class Never < Skep::Error
      end

      attr_reader :name, :group, :version, :settings, :skipped, :against, :x, :series, :ours

      def initialize(name, group: "", version: nil, settings: {}, skipped: nil, against: nil,
                     x: nil, series: nil, ours: false, &measure)
        @name, @group, @version, @settings, @skipped = name, group, version, settings, skipped
        @against, @x, @series, @ours, @measure = against, x, series, ours, measure
        raise ArgumentError, "#{name} has nothing to measure by" unless skipped || measure

        freeze
      end

      # Returns figures by column. The name of a single column is "".
      def measure
        figures = @measure.call
        figures.is_a?(Hash) ? figures : { "" => figures }
      end

      def to_h = { name:, group:, version:, settings: }

      # Returns the same subject, compared with another one.
      def compared_with(name)
        Subject.new(@name, **facts, against: name, &@measure)
      end

      # Returns the same subject, built and measured in another checkout.
      def in(checkout, name)
        Subject.new(name, **facts, against: name) { Checkout.use(checkout) { measure } }
      end

      private

      def facts = { group:, version:, settings:, skipped:, x:, series:, ours: }
    end
  end
end
