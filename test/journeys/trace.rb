# frozen_string_literal: true

# Preloaded into a swarm's processes (ruby -r). Records the calls of skep's methods in a file for
# each process: a line "seconds path method" whenever another method than before is called.
module JourneyTrace
  FOLDER = ENV.fetch("SKEP_JOURNEY")
  LIB = "#{ENV.fetch("SKEP_JOURNEY_LIB")}/skep/"
  private_constant :FOLDER, :LIB

  class << self
    def start
      @pid = nil
      TracePoint.new(:call) do |point|
        note(point.path, point.method_id) if point.path.start_with?(LIB)
      end.enable
    end

    private

    # Threads of a process share the file. A race between them may add a superfluous line.
    def note(path, method)
      return if method == @method && path.equal?(@path) && @pid == $$

      @path, @method = path, method
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      out.syswrite("#{now} #{path[LIB.size..]} #{method}\n")
    end

    def out
      return @out if @pid == $$

      @pid = $$
      @out = File.open("#{FOLDER}/#{$$}", "a")
    end
  end
end

JourneyTrace.start
