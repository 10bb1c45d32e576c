# frozen_string_literal: true

# Asks the molds, which wait until they are to fork, whether they are there.
#
#   calls = RollCall.new(timeout: 30.0)
#   calls.call(molds, now) { |mold| … }   # whenever somebody looks anyhow; for each to ask
#   calls.answered(mold)            # it has said something, whatever it was
#   calls.silent(molds, now)              # => those that have said nothing for a timeout
#   calls.excuse(now)                     # we were away ourselves: they have all the time again
module Skep
  class Swarm
    class RollCall
      def initialize(timeout:) #: (timeout: Float) -> void
        @timeout = timeout
        @asked = {}.compare_by_identity
        @answered = {}.compare_by_identity
      end

      # Nobody is asked more often than once a timeout.
      #: (Array[Mold], Float) { (Mold) -> void } -> void
      def call(molds, now)
        forget_all_but(molds)
        molds.each do |mold|
          next if @asked[mold] && !(@answered[mold] && now - @asked[mold] >= @timeout)

          @asked[mold] = now
          @answered.delete(mold)
          yield mold
        end
      end

      def answered(mold) #: (Mold) -> void
        @answered[mold] = true
      end

      def silent(molds, now) #: (Array[Mold], Float) -> Array[Mold]
        molds.select do |mold|
          @asked[mold] && !@answered[mold] && now - @asked[mold] >= @timeout
        end
      end

      def excuse(now) = @asked.transform_values! { now } #: (Float) -> void

      private

      def forget_all_but(molds)
        [@asked, @answered].each { |known| known.select! { |mold, _| molds.include?(mold) } }
      end
    end
  end
end
