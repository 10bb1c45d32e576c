# frozen_string_literal: true

# The revision of the application's code: the swarm's option `revision`, or what the deploy says.
#
#   Revision.found("/srv/shop/current/config/skep.rb")   # => "4f0c1e2", or nil
#
# The file REVISION, which Capistrano writes, is looked for through the path of the swarm file: the
# supervisor's working directory stays that of the release in which it was started. A file comes
# first, as the supervisor's environment doesn't change at a reload.
module Skep
  class Swarm
    module Definition
      module Revision
        VARIABLES = %w[KAMAL_VERSION HEROKU_SLUG_COMMIT GIT_COMMIT].freeze
        FILE = "REVISION"
        FORMAT = /\A[[:graph:]](?:[[:print:]]{0,98}[[:graph:]])?\z/
        private_constant :VARIABLES, :FILE, :FORMAT

        class << self
          def valid?(text) = text.is_a?(String) && text.valid_encoding? && text.match?(FORMAT)

          # file: the swarm file's path; nil where a program describes the swarm.
          def found(file, env: ENV)
            texts = [*directories(file).map { |path| read(File.join(path, FILE)) },
                     *VARIABLES.map { |name| env[name].to_s.scrub.strip }]
            texts.find { |text| valid?(text) }
          end

          private

          # Rails' swarm file is in the application's folder config.
          def directories(file)
            return ["."] unless file

            directory = File.dirname(file)
            [directory, *(File.dirname(directory) if File.basename(directory) == "config")]
          end

          def read(path)
            File.read(path, 256).to_s.scrub.lines.first.to_s.strip if File.file?(path)
          rescue SystemCallError # it isn't readable
            nil
          end
        end
      end
    end
  end
end
