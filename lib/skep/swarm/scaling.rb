# frozen_string_literal: true

# More nodes, or fewer, of a swarm that runs.
#
#   Scaling.new(manager, config).to(6)     # => nil, or a sentence that says why not
#
# Every kind of work without a count of its own gets so many nodes. Of those that go, first those
# with the least to do; new ones get the lowest free ids.
module Skep
  class Swarm
    class Scaling
      def initialize(manager, config) #: (Manager, Config) -> void
        @manager = manager
        @config = config
      end

      def to(count) #: (untyped) -> String?
        why = refusal(count)
        return why if why

        scaled.each { |task| scale(task, count - seats(task).size) }
        nil
      end

      private

      def scaled
        @config.tasks.each_index.select { |task| @config.tasks[task]["nodes"].nil? }
      end

      def seats(task) = @manager.seats.select { |seat| seat.task == task }

      def refusal(count)
        return "give a whole number of nodes, 1 or more" unless count.is_a?(Integer) && count >= 1
        return "every work of it has a number of nodes of its own, in its file" if scaled.empty?

        most = @manager.room / scaled.size
        "#{count} nodes are more than it has room for, #{most}: start it anew with that many" if
          count > most
      end

      def scale(task, more)
        return @manager.add(task, more) if more.positive?

        seats(task).sort_by { |seat| [@manager.load(seat), -seat.id] }.first(-more)
                   .each { |seat| @manager.remove(seat, "scale") }
      end
    end
  end
end
