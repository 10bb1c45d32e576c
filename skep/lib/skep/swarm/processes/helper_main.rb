# frozen_string_literal: true

# The helper process: runs the users' blocks, `swarm.on(:event) { |facts| … }`, one event after
# another; passes each event on (Swarm.pass_on_with), and as a line to `logger:`; and lets a service
# serve the socket that the supervisor lends it (Swarm.serve_with).
#
#   HelperMain.new(swarm.listeners, node, query:).run   # until stop and all events are handled
#
# A block that raises makes an event, and the next block runs all the same.
module Skep
  class Swarm
    module Processes
      class HelperMain
        def initialize(listeners, node, query:, service: Swarm.service, bridge: Swarm.bridge,
                       logger: nil)
          @listeners = listeners
          @node = node
          @query = query
          @service, @bridge, @logger = service, bridge, logger
          @inbox = Threads::Inbox.new
          node.on_stop { @inbox.close }
        end

        # Called by the control thread.
        def receive(frame)
          case frame.type
          when "answer" then @query.receive(frame)
          when "event", "serve" then @inbox.push(frame) unless @inbox.closed?
          end
        end

        def run
          @node.ready!
          until @inbox.closed? && @inbox.empty?
            frame = @inbox.pop(timeout: @node.beat_every)
            @node.beat
            handle(frame) if frame
          end
        ensure
          @server&.close
        end

        private

        def handle(frame)
          return serve(frame.ios.first) if frame.type == "serve"

          log(frame) if @logger
          run_blocks(frame["name"], frame["facts"])
        end

        def serve(socket)
          raise Errno::EMFILE unless socket

          @server&.close
          @server = @service.start(socket, @query)
        rescue StandardError, LoadError => e # a library's: it is reported, and the blocks still run
          @node.event(:metrics_failed, level: :error, error: IPC::PlainData.error(e))
        end

        def log(frame)
          guard("logger") do
            facts = { swarm: @node.swarm, **frame["facts"] }
            @bridge&.log(@logger, frame["name"], frame["level"], facts)
          end
        end

        def run_blocks(name, facts)
          @listeners.fetch(name, []).each { |block| guard("on(#{name})") { block.call(facts) } }
          guard("#{name}.skep") { @bridge&.report(name, facts) }
        end

        def guard(hook)
          yield
        rescue *HOOK_ERRORS => e # a user's block: it is reported, and the others still run
          @node.event(:hook_failed, level: :error, hook:, error: IPC::PlainData.error(e),
                                     at: ErrorPlace.of(e))
        end
      end
    end
  end
end
