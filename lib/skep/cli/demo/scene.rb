# frozen_string_literal: true

# What a view can see of a trial, and the words that views share.
#
#   scene.introduction       # => sentences
#   scene.progress           # => 0.61
#   scene.done               # => "122,000 of 200,000"
#   scene.news(kill)         # => "kill 3 of 10: node 2 (pid 42) got SIGKILL, pid 57 was ready …"
module Skep
  module CLI
    class Demo
      Scene = Struct.new(:plan, :roster, :account, :kills, :pace, :phase, keyword_init: true)

      # A view's `draw(scene, now)` is called ten times a second or so, `close` once.
      class Scene
        def introduction #: () -> Array[String]
          where = plan.brokers ? "the Kafka at #{plan.brokers}" : "an embedded Kafka broker"
          ["#{Words.count(plan.nodes, "node")} handle #{Words.count(plan.messages, "message")} " \
           "from #{where}.",
           "#{fate}: no message may get lost."]
        end

        def fate #: () -> String
          return "None of them is killed this time" if plan.kills.zero?

          "#{Words.count(plan.kills, "time")} one of them is killed with SIGKILL"
        end

        def progress = account.processed.fdiv(plan.messages) #: () -> Float
        def percent = (progress * 100).floor #: () -> Integer

        def done #: () -> String
          "#{Words.number(account.processed)} of #{Words.number(plan.messages)}"
        end

        def time_left #: () -> String
          return phase unless phase == "working"

          seconds = pace.seconds_left(plan.messages - account.processed)
          seconds ? "#{Words.duration(seconds)} left" : "just begun"
        end

        def news(kill) #: (Kills::Kill) -> String
          "kill #{kill.number} of #{plan.kills}: " \
            "node #{kill.node} (pid #{kill.pid}) got SIGKILL, " \
            "pid #{kill.successor} was ready #{Words.milliseconds(kill.milliseconds)} later"
        end
      end
      private_constant :Scene
    end
  end
end
