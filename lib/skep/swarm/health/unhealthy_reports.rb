# frozen_string_literal: true

# What a node said of its health since it last was well.
#
#   unhealthy_reports.add("database gone", now)
#   unhealthy_reports.reason   # => "database gone", the last one's
#   unhealthy_reports.times    # => [now]
module Skep
  class Swarm
    module Health
      class UnhealthyReports
        include Runtime::Persisted

        KEPT = %i[times reason].freeze
        MOST = 20
        private_constant :MOST

        attr_reader :times #: Array[Float]
        attr_reader :reason #: String?

        def initialize #: () -> void
          @times = []
        end

        def any? = @times.any? #: () -> bool

        def add(reason, now) #: (String, Float) -> void
          @reason = reason
          @times.shift if @times.size == MOST
          @times << now
        end

        def clear #: () -> void
          @times = []
          @reason = nil
        end
      end

      # Judges a node by what it says of itself (`child.unhealthy!`). Pure: facts and a time in, a
      # verdict out.
      #
      #   health = UnhealthyPolicy.new(timeout: 30.0)
      #   health.verdict([100.0, 104.0, 108.0], nil, 108.0)   # => :repeated
      #   health.verdict([100.0], 100.0, 130.0)               # => :lasting
      #   health.verdict([100.0], 100.0, 120.0)               # => 10.0: look again in 10 s
      #   health.verdict([100.0], nil, 120.0)                 # => nil: nothing to wait for
      #
      # One complaint costs nobody its life: it takes REPORTS of them within a timeout, no two of
      # which count when they are closer than SPACING of it, and no `healthy!` between; or one that
      # for a whole timeout neither progress nor `healthy!` takes back.
      class UnhealthyPolicy
        REPORTS = 3
        SPACING = 0.1

        def initialize(timeout:) #: (timeout: Float) -> void
          @timeout = timeout
          @spacing = timeout * SPACING * 0.9 # who complains in time isn't cheated by a clock's tick
        end

        # reports: when it complained since it last was healthy; ill_since: of the complaint that
        # isn't taken back yet.
        #: (Array[Float], Float?, Float) -> (:repeated | :lasting | Float | nil)
        def verdict(reports, ill_since, now)
          return :repeated if count(reports, now) >= REPORTS
          return unless ill_since

          left = ill_since + @timeout - now
          left.positive? ? left : :lasting
        end

        # How many of them count now.
        def count(reports, now) #: (Array[Float], Float) -> Integer
          last = nil
          reports.count do |at|
            counts = at > now - @timeout && (last.nil? || at - last >= @spacing)
            last = at if counts
            counts
          end
        end
      end
    end
  end
end
