# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # The native threads of libraries, such as librdkafka's, of which a child gets none.
      class NativeThreads
        WHAT = "native threads"
        ADVICE = "a child won't have it, and its library will wait for it in vain: " \
                 "make that library's clients after the fork, or close them before it"
        private_constant :ADVICE

        #: (ProcessInventory) -> void
        def initialize(inventory)
          @inventory = inventory
        end

        #: () -> Array[Finding]
        def findings
          @inventory.native_threads.map do |thread|
            Finding.new(kind: :native_thread, what: "the native thread #{thread.name.inspect}",
                        where: "task #{thread.tid} of pid #{Process.pid}", advice: ADVICE)
          end
        end
      end
      private_constant :NativeThreads
    end
  end
end
