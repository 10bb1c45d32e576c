# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # What has changed between two hashes, so that not all of it is sent every time: as JSON Merge
      # Patch (RFC 7396), where null says that a key has gone. So there is no null in a view.
      #
      #   Patch.between({ "a" => 1, "b" => { "c" => 2 } }, { "b" => { "c" => 3 } })
      #   # => {"a" => nil, "b" => {"c" => 3}}
      module Patch
        module_function

        def between(before, after) #: (Hash, Hash) -> Hash
          gone = (before.keys - after.keys).to_h { |key| [key, nil] }
          changed = after.reject { |key, value| before.key?(key) && before[key] == value }
          changed.each_with_object(gone) do |(key, value), patch|
            held = before[key]
            both = value.is_a?(Hash) && held.is_a?(Hash)
            patch[key] = both ? between(held, value) : value
          end
        end

        # The value without what is null in it.
        def whole(value) #: (untyped) -> untyped
          case value
          when Hash then value.compact.transform_values { |held| whole(held) }
          when Array then value.map { |held| whole(held) }
          else value
          end
        end
      end
      private_constant :Patch
    end
  end
end
