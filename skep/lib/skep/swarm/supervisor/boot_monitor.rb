# frozen_string_literal: true

# Watches a swarm's first boot. It fails when no node is ready in time, or when none of them can
# begin. Supervisor#fail_boot receives the reason. A file that is invalid, can't be loaded, or ends
# the mold fails there directly. Each failure has an exit code; of several, Lifecycle#exit_code
# chooses one.
#
#   boot = BootMonitor.new(supervisor)
#   boot.watch                                 # from now on, and again when it is configured
#   boot.look                                  # a node could not begin, or has ended
#   boot.over                                  # a node is ready
module Skep
  class Swarm
    class Supervisor
      class BootMonitor
        SILENT = "see the log for why each one ended"
        UNREADY = "#{SILENT}, and whether your work calls node.ready!, beat or wait"
        LOADING = "the mold had not loaded the file by then"
        RETURNED = "the work returned before it called node.ready!, beat or wait: " \
                   "let it run until node.stopping?"
        LATE = "a node did not call node.ready!, beat or wait within boot_timeout"
        CAUSES = 3 # in one sentence
        private_constant :SILENT, :UNREADY, :LOADING, :RETURNED, :LATE, :CAUSES

        def initialize(supervisor)
          @supervisor = supervisor
        end

        def watch
          @timer&.cancel
          @timer = @supervisor.loop.deadline(@supervisor.boot_limit) { overdue }
        end

        # The time for the first boot is over: the swarm ends.
        def overdue
          return if @supervisor.stopping?

          fail_boot("no node was ready within #{@supervisor.boot_limit.round(1)} s",
                    @supervisor.nodes_requested? ? UNREADY : LOADING)
        end

        def over = @timer.cancel

        def look
          return if @supervisor.stopping? || !hopeless?

          @supervisor.loop.after(0) { fail_boot("no node could boot") unless @supervisor.stopping? }
        end

        private

        # Returns true if each kind of work has a failed slot, and at least boot_concurrency slots
        # have failed (all of them if there are fewer). A slot has failed if its node said that it
        # can't begin, or died more than `max_restarts` times.
        def hopeless?
          slots, config = @supervisor.node_pool.slots, @supervisor.config
          failed = slots.select do |slot|
            slot.refusal || slot.deaths.times.size > slot.options.max_restarts
          end
          failed.size >= [config.boot_concurrency, slots.size].min &&
            (slots.map(&:task) - failed.map(&:task)).empty?
        end

        def fail_boot(what, otherwise = SILENT)
          slots = @supervisor.node_pool&.slots || []
          refused = slots.select(&:refusal)
          causes = (refused.any? ? refused : slots).filter_map { |slot| cause(slot) }.uniq
          why = causes.any? ? ": #{listed(causes)}" : ", #{otherwise}"
          @supervisor.fail_boot("#{@supervisor.file}: #{what}#{why}",
                           ExitCode.of_boot(refused.map(&:refusal_code)))
        end

        # Why the slot's last process ended; nil if none has ended.
        def cause(slot)
          sentence = slot.refusal || slot.failure
          return sentence.lines.first.to_s.chomp if sentence
          return unless slot.last_exit
          return RETURNED if slot.clean?
          return LATE if slot.last_reason == "boot_timeout"

          "its process ended, #{slot.last_exit}#{" (#{slot.last_reason})" if slot.last_reason}"
        end

        def listed(causes)
          more = causes.size - CAUSES
          [*causes.first(CAUSES), *("#{more} more in the log" if more.positive?)].join("; ")
        end
      end
    end
  end
end
