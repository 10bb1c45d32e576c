# frozen_string_literal: true

# The view of `--json`: nothing, until the verdict.
module Skep
  module CLI
    class Demo
      class Silence
        def draw(scene, now) = nil #: (Scene, Float) -> void
        def close = nil #: () -> void
      end
      private_constant :Silence
    end
  end
end
