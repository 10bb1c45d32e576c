# frozen_string_literal: true

# Loads a swarm file and returns the swarm in it. Reports any error as one sentence.
#
#   Loader.new("swarm.rb").swarm   # => Skep::Swarm, or raises InvalidSwarmFile
#
# It runs in the mold, in `skep check` and in `skep run --inline`, never in the supervisor, which
# loads no user code.
module Skep
  class Swarm
    module Definition
      class Loader
        LOADED = :skep_swarm_file_loaded

        # The file can't be run. The message is a sentence for the user.
        class InvalidSwarmFile < Skep::Error
          attr_reader :exit_code

          # exit_code: ExitCode::FAILED if the application's code raised.
          def initialize(file:, what:, advice: nil, exit_code: ExitCode::CONFIGURATION)
            @exit_code = exit_code
            super([file, ": ", what, advice && ": #{advice}"].join)
          end
        end

        class << self
          def loading? = !@found.nil?
          def found(swarm) = @found&.push(swarm)

          # Methods defined at the top level of a file become methods of every object, and may
          # replace Ruby's own. Returns a sentence if the file has replaced any.
          def shadowed(file, error)
            own = Object.private_instance_methods(false) | Object.instance_methods(false)
            names = own & (Kernel.private_instance_methods(false) | Kernel.instance_methods(false))
            return if names.empty?

            "#{file}: it defines #{names.sort.join(", ")} at its top level, in place of Ruby's " \
              "own for every object, and the mold failed, #{error.class}: define them in a module"
          end

          # Runs the block and returns the swarms that it describes.
          def collect
            @found = []
            catch(LOADED) { yield }
            @found
          ensure
            @found = nil
          end
        end

        # advice: what to do after the correction of a syntax error.
        def initialize(file, advice: "run again")
          @file = file
          @advice = advice
        end

        def swarm
          swarms = Loader.collect { read }
          return swarms.first if swarms.size == 1

          if swarms.empty?
            refuse("it describes no swarm", "add `Skep.swarm \"name\" do |swarm| … end`")
          end
          refuse("it describes #{swarms.size} swarms (#{swarms.map(&:name).join(', ')})",
                 "put each into a file of its own")
        end

        private

        def read
          refuse_missing unless File.file?(@file)
          ErrorPlace.file = @file
          load(File.expand_path(@file))
        rescue SyntaxError => e
          refuse(syntax(e), "correct it, and #{@advice}")
        rescue SystemExit => e
          refuse("it called exit(#{e.status}) while it was loaded",
                 "let it describe the swarm and end")
        rescue InvalidSwarmFile
          raise
        rescue Skep::Error => e # its message is a sentence
          refuse(where(e), first_line(IPC::PlainData.message(e)), exit_code: ExitCode.of_error(e))
        rescue Exception => e # a swarm file may raise anything, and the mold must report it
          what = first_line(IPC::PlainData.message(e))
          refuse("#{e.class} while it was loaded, #{where(e)}",
                 [what, *missing_part(e)].join(": "), exit_code: ExitCode.of_error(e))
        end

        def refuse_missing
          refuse("there is no such file", "name the file that describes the swarm")
        end

        def refuse(what, advice = nil, **code)
          raise InvalidSwarmFile.new(file: @file, what:, advice:, **code)
        end

        # A reason below a source line, as Prism (Ruby 3.4) prints it: "    |  ^~ unexpected 'do'".
        PRISM_REASON = /\A\s*\|\s*\^~*\s+(?<reason>\S.*)/
        CLOSING = "assuming it is closing" # follows from another error
        private_constant :PRISM_REASON, :CLOSING

        # Returns for example "line 3: syntax error, unexpected end-of-input": the first error,
        # without the file's path and the source line.
        def syntax(error)
          lines = error.message.lines(chomp: true)
                       .map { |line| line.delete_prefix(File.expand_path(@file)) }
          line = lines.find { |text| text =~ /\A:?\d+:/ && text.include?("error") } ||
                 lines.find { |text| text =~ /\d+:/ } || lines.first
          number, text = line.to_s.match(/\A:?(\d+):\s*(.*)/)&.captures
          detail = text.to_s.sub(/\A.*?(syntax error)s?/, '\1').sub(/ found\z/, "")
          [number ? "line #{number}: #{detail}" : "syntax error: #{line}", *prism_reasons(lines)]
            .join(", ")
        end

        # Ruby 3.4 has a heading without a reason, and several reasons, the first of which may be a
        # consequence of the next.
        def prism_reasons(lines)
          reasons = lines.filter_map { |line| line[PRISM_REASON, :reason] }.uniq
          causes = reasons.reject { |reason| reason.include?(CLOSING) }
          text = (causes.empty? ? reasons : causes).first(2).join("; ")
          text unless text.empty?
        end

        # Advice on a part of skep, such as Skep::Web, that the file hasn't required, or whose gem
        # isn't there.
        def missing_part(error)
          name = part(error) or return
          return Plugin.installation(name) unless there?("skep/#{name}")

          "add `require \"skep/#{name}\"` above" if error.is_a?(NameError)
        end

        # Returns for example "web" for Skep::Web or "skep/web", "solid_queue" for Skep::SolidQueue.
        def part(error)
          case error
          when LoadError then error.path.to_s[%r{\Askep/(\w+)}, 1]
          when NameError
            if error.message.include?("uninitialized constant Skep::")
              error.name.to_s.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase
            end
          end
        end

        # A gem needn't be in the load path: RubyGems puts it there.
        def there?(feature)
          $LOAD_PATH.resolve_feature_path(feature) ||
            (defined?(::Gem::Specification) && ::Gem::Specification.find_by_path(feature))
        end

        def where(error)
          begun = "#{File.expand_path(@file)}:"
          line = error.backtrace&.find { |text| text.start_with?(begun) }
          line ? "line #{line.delete_prefix(begun).to_i}" : "in #{error.backtrace&.first}"
        end

        def first_line(text) = text.to_s.lines.first.to_s.chomp
      end
    end
  end
end
