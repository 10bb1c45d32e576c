# frozen_string_literal: true

require "json"
require "objspace"
require "skep/cli/doctor/kernel_objects"

module Skep
  module CLI
    module Doctor
      # The process that loads the file and inspects itself.
      #
      #   ruby -rskep/cli/doctor/inspected_process \
      #     -e Skep::CLI::Doctor::InspectedProcess.main -- FILE
      #
      # It writes one line of JSON to descriptor 3, {"swarm", "findings"} or {"refused",
      # "exit_code"}, and ends without at_exit, as a mold does. Allocations are traced from the
      # start, to find the places.
      class InspectedProcess
        # A swarm file, or any other Ruby file.
        class AnyFile < Swarm::Definition::Loader
          def swarm
            swarms = Swarm::Definition::Loader.collect { read }
            return swarms.first if swarms.size < 2

            refuse("it describes #{swarms.size} swarms", "put each into a file of its own")
          end

          private

          # A program may end with exit(0).
          def load(path)
            super
          rescue SystemExit => e
            raise unless e.success?
          end
        end
        private_constant :AnyFile

        def self.main
          writer = IO.for_fd(3)
          writer.close_on_exec = writer.sync = true
          ObjectSpace.trace_object_allocations_start
          report = new(ARGV.shift, writer).report
          flush # before the report, whose reader kills this process
          writer.write("#{JSON.generate(report)}\n")
          exit!(0)
        end

        def self.flush
          $stdout.flush
        rescue StandardError # the file has closed or replaced it
          nil
        end
        private_class_method :flush

        def initialize(file, writer)
          @file = file
          @writer = writer
        end

        def report
          swarm = AnyFile.new(@file).swarm
          if swarm
            check_options(swarm)
            run_hooks(swarm)
          end
          findings = Skep::Fork::Guard.check(except: [@writer], extra: [KernelObjects])
          findings = findings.map { |one| Swarm::IPC::PlainData.of(one.to_h) }
          { "swarm" => swarm&.name, "findings" => findings }
        rescue Swarm::Definition::Loader::InvalidSwarmFile => e
          { "refused" => Swarm::IPC::PlainData.of(e.message), "exit_code" => e.exit_code }
        end

        private

        # Refuses the options that a supervisor would refuse.
        def check_options(swarm)
          plain = swarm.__to_plain
          given = plain["options"].merge(Swarm::Definition::EnvironmentOptions.read)
          config = Swarm::Definition::Config.new(plain["name"], given, tasks: plain["tasks"])
          return if config.valid?

          raise Swarm::Definition::Loader::InvalidSwarmFile.new(file: @file,
                                                                what: config.errors.join("; "))
        end

        def run_hooks(swarm)
          swarm.__preload
        rescue Exception => e # the application's own code may raise anything
          raise Swarm::Definition::Loader::InvalidSwarmFile.new(
            file: @file, what: "#{e.class} in preload or warm, #{e.backtrace&.first}",
            advice: e.message.lines.first&.chomp, exit_code: ExitCode.of_error(e)
          )
        end
      end
    end
  end
end
