# frozen_string_literal: true

module Skep
  class Web
    module Live
      # The difference between two hashes as a JSON Merge Patch (RFC 7396), so that only changes are
      # sent. In a patch null means that a key was removed; so the hashes contain no nil.
      #
      #   JsonMergePatch.between({ "a" => 1, "b" => { "c" => 2 } }, { "b" => { "c" => 3 } })
      #   # => {"a" => nil, "b" => {"c" => 3}}
      module JsonMergePatch
        module_function

        def between(before, after)
          removed = (before.keys - after.keys).to_h { |key| [key, nil] }
          changed = after.reject { |key, value| before.key?(key) && before[key] == value }
          changed.each_with_object(removed) do |(key, value), patch|
            old = before[key]
            both = value.is_a?(Hash) && old.is_a?(Hash)
            patch[key] = both ? between(old, value) : value
          end
        end

        # Returns the value without the nils in it.
        def without_nil(value)
          case value
          when Hash then value.compact.transform_values { |inner| without_nil(inner) }
          when Array then value.map { |inner| without_nil(inner) }
          else value
          end
        end
      end
    end
  end
end
