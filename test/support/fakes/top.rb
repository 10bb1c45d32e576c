# frozen_string_literal: true

module Fakes
  # Answers each command of `skep top` with success.
  class TopPoller
    attr_reader :commands
    attr_writer :answer # in place of what a command gets by default

    def initialize = @commands = []

    def send_command(command, **facts, &answered)
      @commands << [command, facts]
      answered.call(@answer || { "done" => command })
    end
  end
  stands_for TopPoller, "Skep::CLI::Top::Poller", controls: %i[commands answer=]

  # Figures that the real sampler needs two samples for: 12.4 % of a processor, 10.5 items a second.
  class ProcessSampler
    def sample(status, _now, pids:)
      ids = status["nodes"].map { |node| node["id"] }
      Skep::Control::ProcessSampler::Sample.new(pids ? ids.to_h { |id| [id, 0.124] } : {},
                                                ids.to_h { |id| [id, 10.5] })
    end
  end
  stands_for ProcessSampler, "Skep::Control::ProcessSampler"
end
