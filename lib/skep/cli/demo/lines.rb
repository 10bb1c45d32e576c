# frozen_string_literal: true

# The view for a file or a pipe: a line every two seconds, and one for each kill that was answered.
#
#     4.2 s  31,200 of 200,000 (15 %), 8,012/s, 22 s left
#     4.9 s  kill 2 of 10: node 1 (pid 4242) got SIGKILL, pid 4300 was ready 41 ms later
module Skep
  module CLI
    class Demo
      class Lines
        EVERY = 2.0
        private_constant :EVERY

        def initialize(out) #: (IO) -> void
          @out = out
          @told = 0
        end

        def draw(scene, now) #: (Scene, Float) -> void
          introduce(scene, now) unless @began_at
          tell_kills(scene, now)
          tell_progress(scene, now) if now >= @next_at
          @out.flush
        end

        def close = nil #: () -> void

        private

        def introduce(scene, now)
          @began_at = @next_at = now
          @out.puts(scene.introduction, "")
        end

        def tell_kills(scene, now)
          scene.kills.answered.drop(@told).each { |kill| say(now, scene.news(kill)) }
          @told = scene.kills.answered.size
        end

        def tell_progress(scene, now)
          @next_at += EVERY
          say(now, "#{scene.done} (#{scene.percent} %), #{Words.number(scene.pace.rate)}/s, " \
                   "#{scene.time_left}")
        end

        def say(now, text) = @out.puts("#{format("%6.1f s", now - @began_at)}  #{text}")
      end
      private_constant :Lines
    end
  end
end
