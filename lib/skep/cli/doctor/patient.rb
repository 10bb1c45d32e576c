# frozen_string_literal: true

require "json"
require "objspace"
require "skep/cli/command"
require "skep/cli/doctor/kernel_objects"

module Skep
  module CLI
    class Doctor < Command
      # The process in which the file is loaded and looked at.
      #
      #   ruby -rskep/cli/doctor/patient -e Skep::CLI::Doctor::Patient.main -- FILE
      #
      # It writes one line of JSON to descriptor 3: {"swarm", "findings"} or {"refused"}; and ends
      # without at_exit, as a mold does. Objects' places are traced from the start.
      class Patient
        # A file that describes a swarm, or that doesn't.
        class AnyFile < Swarm::Definition::Loader
          #: () -> Swarm?
          def swarm
            swarms = Swarm::Definition::Loader.collect { read }
            return swarms.first if swarms.size < 2

            refuse("it describes #{swarms.size} swarms", "put each into a file of its own")
          end

          private

          # A program that has done its work and says so.
          #
          #: (String path) -> void
          def load(path)
            super
          rescue SystemExit => e
            raise unless e.success?
          end
        end
        private_constant :AnyFile

        #: () -> bot
        def self.main
          writer = IO.for_fd(3)
          writer.close_on_exec = writer.sync = true
          ObjectSpace.trace_object_allocations_start
          report = new(ARGV.shift, writer).report
          flush # Before the report: whoever gets that ends us.
          writer.write("#{JSON.generate(report)}\n")
          exit!(0)
        end

        #: () -> void
        def self.flush
          $stdout.flush
        rescue StandardError # The file has closed it, or put something of its own in its place.
          nil
        end
        private_class_method :flush

        #: (String file, IO writer) -> void
        def initialize(file, writer)
          @file = file
          @writer = writer
        end

        #: () -> Hash[String, untyped]
        def report
          swarm = AnyFile.new(@file).swarm
          hooks(swarm) if swarm
          findings = Skep::Fork::Guard.check(except: [@writer], extra: [KernelObjects])
          # A swarm's heap is warmed up by its mold, after this.
          findings.reject! { |finding| finding.kind == :heap } if swarm
          { "swarm" => swarm&.name, "findings" => findings.map { |one| Swarm::IPC::PlainData.of(one.to_h) } }
        rescue Swarm::Definition::Loader::InvalidSwarmFile => e
          { "refused" => Swarm::IPC::PlainData.of(e.message) }
        end

        private

        #: (Swarm) -> void
        def hooks(swarm)
          %i[preload warm].each { |name| swarm.__hooks(name).each(&:call) }
        rescue Exception => e # the application's own code may raise anything
          raise Swarm::Definition::Loader::InvalidSwarmFile.new(
            file: @file, what: "#{e.class} in preload or warm, #{e.backtrace&.first}",
            advice: e.message.lines.first&.chomp
          )
        end
      end
    end
  end
end
