# frozen_string_literal: true

# The names of all events that skep logs. docs/reference/events.md describes them; a test compares
# them with it and with the code. A work names its own events.
#
#   EventCatalog.names.include?("node_died")
module Skep
  module Log
    module EventCatalog
      NAMES = %w[
        swarm_started swarm_stopping swarm_forced swarm_quiet swarm_resumed swarm_stopped
        swarm_scaled
        restart_started reload_started refork_started
        restart_finished reload_finished refork_finished restart_failed reload_failed
        refork_failed
        restart_refused reload_refused reload_ignored option_ignored work_warning
        run_directory_unusable
        mold_booting mold_ready mold_warmed mold_died mold_load_failed mold_hung mold_protocol_error
        fork_guard fork_failed node_forked node_ready node_assigned node_unassigned node_failed
        node_over_limit
        swarm_over_budget budget_too_small memory_lowered node_died
        node_exited
        work_isolated spare_ready spare_stepped_in node_hung node_unhealthy node_healthy
        supervisor_late node_backtraces node_became_mold node_replacing node_replaced
        replacement_failed node_waiting node_finished crash_loop crash_loop_ended hook_failed
        node_channel_closed node_unkillable node_protocol_error supervisor_error orphan_left
        preforked_stuck metrics_listening
        metrics_unavailable metrics_failed events_dropped
      ].freeze
      private_constant :NAMES

      # Returns them with those of the plugins that are loaded.
      def self.names = [*NAMES, *Plugin.loaded.values.flat_map(&:events)]
    end
  end
end
