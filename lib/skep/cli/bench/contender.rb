# frozen_string_literal: true

# One thing that is measured, and how.
#
#   Contender.new("Skep.pid", group: "the pid", against: "an empty C method") { 16.2 }
#   Contender.new("pid_cache", group: "the pid", skipped: Peer.missing("pid_cache"))
#
# The block measures once and returns a figure in the contest's unit, or several as a hash, of which
# the first is the one that is compared: {"fork" => 1.2, "PSS MiB" => 80.0}. It may raise
# Contender::Skipped with a sentence when it finds that it can't be had, or Contender::Never when
# what it waits for doesn't come.
#
# `version` says whose it is and which: "pid_cache 0.1.0". `against` names the contender that its
# ratio refers to (else the contest's REFERENCE). `x` and `series` are for figures over a quantity:
# the plot draws a group that has them as lines.
module Skep
  module CLI
    class Bench
      class Contender
        # It can't be had here; the message says why and what to install.
        class Skipped < Skep::Error
        end

        # It was measured, and what was waited for doesn't happen; the message says so.
        class Never < Skep::Error
        end

        attr_reader :name, :group #: String
        attr_reader :version, :skipped, :against, :series #: String?
        attr_reader :x #: Numeric?

        #: (String, ?group: String, ?version: String?, ?skipped: String?, ?against: String?,
        #:   ?x: Numeric?, ?series: String?) ?{ () -> (Float | Hash[String, Float]) } -> void
        def initialize(name, group: "", version: nil, skipped: nil, against: nil, x: nil,
                       series: nil, &measure)
          @name, @group, @version, @skipped = name, group, version, skipped
          @against, @x, @series, @measure = against, x, series, measure
          raise ArgumentError, "#{name} has nothing to measure by" unless skipped || measure

          freeze
        end

        # Figures by column; the first column's name is "" where there is but one.
        def measure #: () -> Hash[String, Float]
          figures = @measure.call
          figures.is_a?(Hash) ? figures : { "" => figures }
        end
      end
    end
  end
end
