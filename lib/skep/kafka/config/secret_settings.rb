# frozen_string_literal: true

require "skep/secrets"

# Keeps what must not be read out of everything that is; by the names and shapes of Skep::Secrets.
#
#   SecretSettings.in("sasl.password" => "hunter2")               # => ["hunter2"]
#   SecretSettings.scrub("login hunter2 failed", ["hunter2"])      # => "login *** failed"
#   SecretSettings.scrub("http://me:secret@host/", [])             # => "http://***@host/"
module Skep
  module Kafka
    module Config
      module SecretSettings
        HIDDEN = "***"
        LOGIN_IN_URL = %r{(?<=://)[^/@\s]+@}
        private_constant :LOGIN_IN_URL

        class << self
          # The values of the settings that are secret.
          def in(settings) #: (Hash[String, String]) -> Array[String]
            settings.select { |name, value| Skep::Secrets.name?(name) && !value.empty? }
                    .values.sort_by { |value| -value.size }
          end

          # Text as it may be shown.
          def scrub(text, secrets) #: (String, Array[String]) -> String
            clean = text.dup.force_encoding(Encoding::UTF_8).scrub("?")
            secrets.each { |secret| clean = clean.gsub(secret, HIDDEN) }
            Skep::Secrets.hide(clean, HIDDEN).gsub(LOGIN_IN_URL, "#{HIDDEN}@")
          end
        end
      end
    end
  end
end
