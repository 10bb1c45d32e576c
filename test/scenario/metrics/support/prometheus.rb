# frozen_string_literal: true

require "fileutils"
require "json"
require "net/http"
require "open3"

# Debian's Prometheus in a separate directory, on a loopback port, scraping every 200 ms; and its
# promtool. If it isn't installed, Debian's package is unpacked under tmp/: the installed package
# would start a service for the whole machine.
#
#   Prometheus.here?                     # is it installed, or can it be downloaded?
#   Prometheus.faults(text)              # => nil if promtool accepts these metrics, else its output
#   prometheus = Prometheus.start(directory, "127.0.0.1:9394")
#   prometheus.query("skep_nodes")       # => [{ "metric" => {…}, "value" => [time, "2"] }, …]
#   prometheus.stop
class Prometheus
  UNPACKED = File.expand_path("../../../../tmp/prometheus", __dir__)
  SECONDS = 60

  class << self
    def here? = !program("prometheus").nil?

    def faults(text)
      output, status = Open3.capture2e(program("promtool"), "check", "metrics", stdin_data: text)
      output unless status.success? && output.empty?
    end

    def start(...) = new(...)

    def program(name)
      @programs ||= {}
      @programs[name] ||= find(name) || (unpack && find(name))
    end

    private

    def find(name)
      [*ENV["PATH"].split(":"), "#{UNPACKED}/usr/bin"]
        .map { |directory| "#{directory}/#{name}" }.find { |path| File.executable?(path) }
    end

    def unpack
      FileUtils.mkdir_p(UNPACKED)
      get = "apt-get -q download prometheus"
      # From Debian 13 on promtool is a package of its own.
      system("(#{get} || { apt-get -q update && #{get}; }) && " \
             "{ apt-get -q download promtool || :; } && " \
             "for package in *.deb; do dpkg -x $package . || exit; done",
             chdir: UNPACKED, out: File::NULL, err: File::NULL)
    end
  end

  def initialize(directory, target)
    @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    File.write("#{directory}/prometheus.yml", configuration(target))
    @log = "#{directory}/prometheus.log"
    command = [Prometheus.program("prometheus"), *arguments(directory)]
    @pidfd = Skep.pidfd(Process.spawn(*command, out: @log, err: @log))
  end

  # Waits until the block returns true for the result.
  def await(query)
    deadline = Skep::OS.now + SECONDS
    until (result = self.query(query)) && yield(result)
      late = Skep::OS.now > deadline || @pidfd.wait(timeout: 0.1)
      raise Scenario::Failed, "#{query} is #{result}; #{File.readlines(@log).last(5)}" if late
    end
    result
  end

  # Returns nil while it doesn't answer yet.
  def query(query)
    uri = URI("http://127.0.0.1:#{@port}/api/v1/query?#{URI.encode_www_form(query:)}")
    JSON.parse(Net::HTTP.get(uri)).dig("data", "result")
  rescue Errno::ECONNREFUSED, Errno::ECONNRESET, EOFError, JSON::ParserError # it is starting
    nil
  end

  def stop
    Scenario.kill(@pidfd)
    @pidfd.close
  end

  private

  def arguments(directory)
    ["--config.file=#{directory}/prometheus.yml", "--storage.tsdb.path=#{directory}/prometheus",
     "--web.listen-address=127.0.0.1:#{@port}", "--log.level=warn"]
  end

  def configuration(target)
    <<~YAML
      global: { scrape_interval: 200ms, scrape_timeout: 200ms }
      scrape_configs:
        - job_name: skep
          static_configs: [{ targets: ["#{target}"] }]
    YAML
  end
end
