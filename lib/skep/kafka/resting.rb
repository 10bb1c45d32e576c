# frozen_string_literal: true

# Partitions and strands that are to be left alone for a while. Pure: what to do with them when that
# is over is the desk's business.
#
#   resting.add(strand)          # until strand.retry_at
#   resting.deadline             # => 17.2, when the first is over; nil where none ever is
#   resting.over(OS.now)         # => [strand], which rest no more
#   resting.drop(partition)      # it and all of its strands
module Skep
  module Kafka
    class Resting
      def initialize = @all = {}.compare_by_identity

      def add(one) = @all[one] = one.retry_at #: (Partition | Strand) -> void
      def delete(one) = @all.delete(one) #: (Partition | Strand) -> void

      #: (Partition) ?{ (Partition | Strand) -> bool } -> void
      def drop(partition)
        @all.delete_if do |one, _|
          one.partition.equal?(partition) && (!block_given? || yield(one))
        end
      end

      def deadline = @all.each_value.reject(&:infinite?).min #: () -> Float?

      # (Hash#select of one that goes by identity leaks in Ruby 3.1.)
      def over(now) #: (Float) -> Array[Partition | Strand]
        through = @all.filter_map { |one, time| one if time <= now }
        through.each { |one| @all.delete(one) }
      end

      def inspect = "#<Skep::Kafka::Resting #{@all.size}>" #: () -> String
    end
    private_constant :Resting
  end
end
