# frozen_string_literal: true

# Preloaded into a swarm's processes (ruby -r): writes down when which file of skep's is entered, a
# line "seconds role path" each time that it is another than before, into a file for each process.
module JourneyTrace
  FOLDER = ENV.fetch("SKEP_JOURNEY")
  LIB = "#{ENV.fetch("SKEP_JOURNEY_LIB")}/skep/"
  private_constant :FOLDER, :LIB

  class << self
    def start
      @pid = nil
      TracePoint.new(:call) { |point| note(point.path) if point.path.start_with?(LIB) }.enable
    end

    private

    # Threads of one process share the file and, now and then, a line that is one too many.
    def note(path)
      return if path.equal?(@last) && @pid == $$

      @last = path
      out.syswrite("#{Process.clock_gettime(Process::CLOCK_MONOTONIC)} #{path[LIB.size..]}\n")
    end

    def out
      return @out if @pid == $$

      @pid = $$
      @out = File.open("#{FOLDER}/#{$$}", "a")
    end
  end
end

JourneyTrace.start
