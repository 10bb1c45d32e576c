# frozen_string_literal: true

# Takes secrets out of facts before anybody sees them: values by their names, passwords in text by
# their shape (Skep::Secrets), in keys as well.
#
#   Redaction.of("sasl.password" => "hunter2", url: "redis://u:hunter2@host")
#   # => {"sasl.password" => "[secret]", url: "redis://u:[secret]@host"}
module Skep
  module Watch
    module Redaction
      HIDDEN = "[secret]"
      private_constant :HIDDEN

      module_function

      def of(value) #: (untyped) -> untyped
        case value
        when Hash
          value.to_h do |key, held|
            secret = !held.nil? && Skep::Secrets.name?(key)
            [key(key), secret ? HIDDEN : of(held)]
          end
        when Array then value.map { |held| of(held) }
        when String then Skep::Secrets.hide(value, HIDDEN)
        else value
        end
      end

      # Most are names, and stay the objects that they are.
      def key(key)
        return key unless key.is_a?(String) || key.is_a?(Symbol)

        text = key.to_s
        clean = Skep::Secrets.hide(text, HIDDEN)
        return key if clean == text

        key.is_a?(Symbol) ? clean.to_sym : clean
      end
      private_class_method :key
    end
  end
end
