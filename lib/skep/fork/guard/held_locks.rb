# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Mutexes and Monitors that another thread holds just now. Ruby unlocks them in a child, so
      # nobody waits for ever; but who held one was at work on what it guards. Those of the thread
      # that forks are its own in the child as well, and pass.
      class HeldLocks
        WHAT = "held Mutexes and Monitors"
        ADVICE = "Ruby unlocks it in a child, where what it guards may be half changed: " \
                 "fork while no other thread is at work, or take the lock around the fork by " \
                 "Skep.on_fork(before:, parent:, child:)"
        private_constant :ADVICE

        #: (ProcessInventory) -> void
        def initialize(inventory)
          @inventory = inventory
        end

        #: () -> Array[Finding]
        def findings
          return [] if Thread.list.one?

          monitors = @inventory.objects("Monitor")
                               .select { |one| one.mon_locked? && !one.mon_owned? }
          mutexes = @inventory.objects("Thread::Mutex").select { |one| one.locked? && !one.owned? }
          told(monitors, mutexes)
        end

        private

        # Each Monitor has a Mutex inside, made where it was made, held while it is held.
        #
        #: (Array[Monitor], Array[Mutex]) -> Array[Finding]
        def told(monitors, mutexes)
          counts = { "Monitor" => monitors.size,
                     "Mutex" => [mutexes.size - monitors.size, 0].max }
          names = counts.filter_map { |name, count| "#{count} #{name}" if count.positive? }
          return [] if names.empty?

          places = (monitors + mutexes).filter_map { |lock| @inventory.place(lock) }.uniq
          [Finding.new(kind: :held_lock, severity: :note, advice: ADVICE,
                       what: "locks held by other threads (#{names.join(", ")})",
                       where: places.any? ? places.join(", ") : "in this process")]
        end
      end
      private_constant :HeldLocks
    end
  end
end
