# frozen_string_literal: true

# Preloaded into a swarm's processes (ruby -r): writes down when which method of which file of
# skep's is called, a line "seconds path method" each time that it is another than before, into a
# file for each process.
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

    # Threads of one process share the file and, now and then, a line that is one too many.
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
