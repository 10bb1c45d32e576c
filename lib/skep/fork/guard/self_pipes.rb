# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Pipes by which a process wakes itself: both ends are here. A pipe to another process, such
      # as a standard stream, passes.
      class SelfPipes
        WHAT = "pipes"
        ADVICE = "a child shares it, and may read a wake-up that was meant for the parent: " \
                 "make it anew in each child, by Skep.on_fork for one"
        private_constant :ADVICE

        #: (ProcessInventory) -> void
        def initialize(inventory)
          @inventory = inventory
        end

        #: () -> Array[Finding]
        def findings
          held = @inventory.inner("pipe").reject { |one| @inventory.reserved?(one) }
          return [] if held.empty?

          [Finding.new(kind: :pipe, severity: :note, advice: ADVICE, where: where(held),
                       what: "pipes with both ends in this process")]
        end

        private

        #: (Array[FileDescriptor]) -> String
        def where(held)
          places = held.filter_map { |one| (io = @inventory.io(one.fd)) && @inventory.place(io) }
          [*places.uniq, *held.sort_by(&:fd)].join(", ")
        end
      end
      private_constant :SelfPipes
    end
  end
end
