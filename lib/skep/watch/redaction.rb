# frozen_string_literal: true

# Takes secrets out of facts before anybody sees them:
# passwords and keys by name, passwords in URLs by shape.
#
#   Redaction.of("sasl.password" => "hunter2", url: "redis://u:hunter2@host")
#   # => {"sasl.password" => "[secret]", url: "redis://u:[secret]@host"}
module Skep
  module Watch
    module Redaction
      NAMES = /password|passwd|secret|token|credential|
               ssl\.key|sasl\.jaas|oauthbearer\.config|api_?key/ix
      URL = %r{(\w[\w+.-]*://[^/\s:@]*:)[^@\s/]+@}
      HIDDEN = "[secret]"
      private_constant :NAMES, :URL, :HIDDEN

      module_function

      def of(value) #: (untyped) -> untyped
        case value
        when Hash
          value.to_h { |key, held| [key, key.to_s.match?(NAMES) && !held.nil? ? HIDDEN : of(held)] }
        when Array then value.map { |held| of(held) }
        when String then value.include?("://") ? value.scrub.gsub(URL, "\\1#{HIDDEN}@") : value
        else value
        end
      end
    end
  end
end
